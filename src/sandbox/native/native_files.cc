// SPDX-License-Identifier: Apache-2.0
#include "sandbox/native/native_files.h"

#include <sys/stat.h>

#include <algorithm>

#include "vfs/glob_search.h"

namespace cloche::sandbox {
namespace {

namespace flag = warden::file_open;
using native::FileClient;

constexpr std::size_t entries_max = 1'000'000;
constexpr std::size_t depth_max = 4096;
constexpr std::string_view attribute_space = "user.";

FileKind kind_of(std::uint32_t mode) {
  if (S_ISREG(mode)) return FileKind::file;
  if (S_ISDIR(mode)) return FileKind::directory;
  return S_ISLNK(mode) ? FileKind::symlink : FileKind::other;
}

FileInfo info_of(native::FileEntry entry, std::string name) {
  const FileKind kind = kind_of(entry.mode);
  return {.name = std::move(name),
          .kind = kind,
          .size_bytes = kind == FileKind::directory ? 0 : entry.size,
          .mode = entry.mode & 07777,
          .modified_ns = entry.modified_ns,
          .created_ns = entry.created_ns,
          .target = std::move(entry.target),
          .user = entry.user,
          .group = entry.group,
          .inode = entry.inode};
}

std::string last_part(std::string_view path) {
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  return std::string(path.substr(path.rfind('/') + 1));
}

// Closes the file at its end.
class Opened {
 public:
  Opened(FileClient& files, FileClient::Handle handle) : files_(files), handle_(handle) {}
  ~Opened() { files_.close(handle_); }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;

 private:
  FileClient& files_;
  FileClient::Handle handle_;
};

// Where it does not fit, what was there is there: first there is room for all, holes included. Where
// that cannot be promised, what is longer goes first, after the end.
Result<void> replace_content(FileClient& files, FileClient::Handle handle,
                             std::string_view content) {
  CLOCHE_ASSIGN(const native::FileEntry old, files.stat(handle));
  if (!content.empty()) {
    if (const auto room = files.make_room(handle, content.size()); !room) {
      if (content.size() > old.size) (void)files.truncate(handle, old.size);
      return room;
    }
  }
  if (content.size() > old.size) {
    const std::size_t kept = static_cast<std::size_t>(old.size);
    if (const auto added = files.write(handle, old.size, content.substr(kept)); !added) {
      (void)files.truncate(handle, old.size);
      return added;
    }
    return files.write(handle, 0, content.substr(0, kept));
  }
  CLOCHE_TRY(files.write(handle, 0, content));
  return content.size() < old.size ? files.truncate(handle, content.size()) : Result<void>();
}

class NativeOpenFile final : public OpenFileBackend {
 public:
  NativeOpenFile(FileClient& files, FileClient::Handle handle)
      : files_(files), handle_(handle), end_(files, handle) {}

  Result<std::string> read(std::uint64_t offset, std::size_t size_bytes) override {
    return files_.read(handle_, offset, size_bytes);
  }
  Result<void> write(std::uint64_t offset, std::string_view data) override {
    return files_.write(handle_, offset, data);
  }
  Result<void> append(std::string_view data) override { return files_.append(handle_, data); }
  Result<void> truncate(std::uint64_t size_bytes) override {
    return files_.truncate(handle_, size_bytes);
  }
  Result<void> change_mode(std::uint32_t mode) override {
    return files_.change_mode(handle_, mode);
  }
  Result<void> set_times(std::int64_t accessed_ns, std::int64_t modified_ns) override {
    return files_.set_times(handle_, {accessed_ns, modified_ns});
  }
  Result<FileInfo> stat() override {
    CLOCHE_ASSIGN(native::FileEntry entry, files_.stat(handle_));
    return info_of(std::move(entry), {});
  }

 private:
  FileClient& files_;
  FileClient::Handle handle_;
  Opened end_;
};

}  // namespace

std::string NativeFiles::absolute(std::string_view path) const {
  if (path.starts_with('/') || path.empty()) return std::string(path);
  return home_ + "/" + std::string(path);
}

Result<std::string> NativeFiles::with_folders(std::string_view path) {
  std::string whole = absolute(path);
  const std::size_t slash = whole.rfind('/');
  if (slash != std::string::npos && slash > 0)
    CLOCHE_TRY(box_.files().make_folders(whole.substr(0, slash)));
  return whole;
}

Result<std::string> NativeFiles::read(std::string_view path, std::uint64_t limit_bytes) {
  FileClient& files = box_.files();
  CLOCHE_ASSIGN(const FileClient::Handle handle, files.open(absolute(path), flag::read, 0));
  const Opened end(files, handle);
  CLOCHE_ASSIGN(const native::FileEntry entry, files.stat(handle));
  if (entry.size > limit_bytes) return Errno::fbig;
  CLOCHE_ASSIGN(std::string content,
                files.read(handle, 0, static_cast<std::size_t>(limit_bytes) + 1));
  if (content.size() > limit_bytes) return Errno::fbig;
  return content;
}

Result<std::string> NativeFiles::read_range(std::string_view path, std::uint64_t offset,
                                            std::size_t size_bytes) {
  FileClient& files = box_.files();
  CLOCHE_ASSIGN(const FileClient::Handle handle, files.open(absolute(path), flag::read, 0));
  const Opened end(files, handle);
  return files.read(handle, offset, size_bytes);
}

Result<void> NativeFiles::write(std::string_view path, std::string_view content,
                                std::uint32_t mode) {
  CLOCHE_ASSIGN(const std::string whole, with_folders(path));
  FileClient& files = box_.files();
  const auto made = files.open(whole, flag::write | flag::create | flag::exclusive, mode);
  if (!made && made.error() == Errno::exist) {
    CLOCHE_ASSIGN(const FileClient::Handle handle,
                  files.open(whole, flag::write | flag::create, mode));
    const Opened end(files, handle);
    return replace_content(files, handle, content);
  }
  if (!made) return made.error();
  const Opened end(files, *made);
  const Result<void> written = files.write(*made, 0, content);
  if (!written) (void)files.remove(whole);
  return written;
}

Result<void> NativeFiles::append(std::string_view path, std::string_view content) {
  CLOCHE_ASSIGN(const std::string whole, with_folders(path));
  FileClient& files = box_.files();
  CLOCHE_ASSIGN(const FileClient::Handle handle,
                files.open(whole, flag::write | flag::create, 0644));
  const Opened end(files, handle);
  return files.append(handle, content);
}

Result<std::unique_ptr<OpenFileBackend>> NativeFiles::open(std::string_view path, OpenMode mode,
                                                           std::uint32_t permissions) {
  std::uint32_t flags = 0;
  if (has(mode, OpenMode::read)) flags |= flag::read;
  if (has(mode, OpenMode::write | OpenMode::truncate)) flags |= flag::write;
  if (has(mode, OpenMode::create)) flags |= flag::create;
  if (has(mode, OpenMode::create) && has(mode, OpenMode::exclusive)) flags |= flag::exclusive;
  if (has(mode, OpenMode::truncate)) flags |= flag::truncate;
  CLOCHE_ASSIGN(const FileClient::Handle handle,
                box_.files().open(absolute(path), flags, permissions));
  return std::make_unique<NativeOpenFile>(box_.files(), handle);
}

Result<std::vector<FileInfo>> NativeFiles::list(std::string_view path) {
  CLOCHE_ASSIGN(std::vector<native::FileEntry> entries,
                box_.files().list(absolute(path), entries_max));
  std::vector<FileInfo> infos;
  infos.reserve(entries.size());
  for (native::FileEntry& entry : entries) {
    std::string name = std::move(entry.name);
    infos.push_back(info_of(std::move(entry), std::move(name)));
  }
  std::ranges::sort(infos, {}, &FileInfo::name);
  return infos;
}

Result<FileInfo> NativeFiles::stat(std::string_view path) {
  CLOCHE_ASSIGN(native::FileEntry entry, box_.files().stat(absolute(path)));
  return info_of(std::move(entry), last_part(path));
}

Result<FileInfo> NativeFiles::link_stat(std::string_view path) {
  CLOCHE_ASSIGN(native::FileEntry entry, box_.files().link_stat(absolute(path)));
  return info_of(std::move(entry), last_part(path));
}

Result<void> NativeFiles::make_directories(std::string_view path) {
  return box_.files().make_folders(absolute(path));
}

Result<void> NativeFiles::make_directory(std::string_view path) {
  return box_.files().make_directory(absolute(path), 0755);
}

Result<void> NativeFiles::remove(std::string_view path) {
  return box_.files().remove(absolute(path));
}

Result<void> NativeFiles::remove_all(std::string_view path) {
  return box_.files().remove_all(absolute(path));
}

Result<void> NativeFiles::rename(std::string_view from, std::string_view to) {
  return box_.files().rename(absolute(from), absolute(to));
}

Result<void> NativeFiles::change_mode(std::string_view path, std::uint32_t mode) {
  return box_.files().change_mode(absolute(path), mode);
}

Result<void> NativeFiles::set_times(std::string_view path, std::int64_t accessed_ns,
                                    std::int64_t modified_ns) {
  return box_.files().set_times(absolute(path), {accessed_ns, modified_ns});
}

Result<void> NativeFiles::make_symlink(std::string_view target, std::string_view path) {
  return box_.files().symlink(target, absolute(path));
}

Result<std::string> NativeFiles::resolve(std::string_view path) {
  return box_.files().resolve(absolute(path));
}

Result<std::map<std::string, std::string>> NativeFiles::attributes(std::string_view path) {
  const std::string whole = absolute(path);
  CLOCHE_ASSIGN(const std::vector<std::string> names, box_.files().attribute_names(whole));
  std::map<std::string, std::string> found;
  for (const std::string& name : names) {
    if (!name.starts_with(attribute_space)) continue;
    Result<std::string> value = box_.files().attribute(whole, name);
    if (!value && value.error() == Errno::nodata) continue;  // gone meanwhile
    if (!value) return value.error();
    found.emplace(name, *std::move(value));
  }
  return found;
}

Result<void> NativeFiles::set_attribute(std::string_view path, std::string_view name,
                                        std::string_view value) {
  if (!name.starts_with(attribute_space)) return Errno::notsup;
  return box_.files().set_attribute(absolute(path), name, value);
}

Result<void> NativeFiles::remove_attribute(std::string_view path, std::string_view name) {
  if (!name.starts_with(attribute_space)) return Errno::notsup;
  return box_.files().remove_attribute(absolute(path), name);
}

Result<std::vector<std::string>> NativeFiles::glob(std::string_view pattern) {
  // What a place is says its path.
  struct Tree {
    struct Place {};
    NativeFiles& files;

    std::optional<Place> find(const Place&, const std::string& path, std::string_view name,
                              vfs::Follow) {
      return files.link_stat(path + std::string(name)) ? std::optional(Place()) : std::nullopt;
    }
    std::optional<Place> enter(const Place&, const vfs::GlobEntry&, vfs::Follow) { return Place(); }
    std::optional<std::vector<vfs::GlobEntry>> list(const Place&, const std::string& path) {
      Result<std::vector<FileInfo>> entries = files.list(path.empty() ? "." : path);
      if (!entries) return std::nullopt;  // no folder, or none that may be read
      std::vector<vfs::GlobEntry> shown;
      shown.reserve(entries->size());
      for (FileInfo& entry : *entries)
        shown.push_back({std::move(entry.name), entry.kind == FileKind::directory});
      return shown;
    }
  };
  // One search at a time: each may take its memory.
  const MutexLock searching(glob_mutex_);
  Tree tree{*this};
  return vfs::GlobSearch(tree, pattern, {entries_max, depth_max}).run({});
}

Result<std::unique_ptr<WatchBackend>> NativeFiles::watch(std::string_view, WatchDepth,
                                                         std::function<void()>) {
  return Errno::notsup;
}

}  // namespace cloche::sandbox
