// SPDX-License-Identifier: Apache-2.0
#include "native/unpack/archive.h"

#include <archive.h>
#include <archive_entry.h>
#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace cloche::unpack {
namespace {

constexpr std::string_view whiteout = ".wh.";
constexpr std::string_view opaque = ".wh..wh..opq";

struct ReadEnd {
  void operator()(archive* a) const { archive_read_free(a); }
};
struct WriteEnd {
  void operator()(archive* a) const { archive_write_free(a); }
};

// Relative to the root, without "." and empty parts; empty: the root itself.
std::string plain_path(const char* given) {
  if (given == nullptr) throw Refused("a name in it is no text");
  std::string_view rest(given);
  std::string path;
  while (!rest.empty()) {
    const std::string_view part = rest.substr(0, rest.find('/'));
    rest.remove_prefix(std::min(part.size() + 1, rest.size()));
    if (part.empty() || part == ".") continue;
    if (part == "..") throw Refused("the name '" + std::string(given) + "' leads out of it");
    if (!path.empty()) path += '/';
    path += part;
    if (path.size() >= PATH_MAX) throw Refused("a name in it is longer than a path may be");
  }
  return path;
}

std::pair<std::string, std::string> split(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return {".", path};
  return {path.substr(0, slash), path.substr(slash + 1)};
}

void remove_tree(const std::string& path) {
  struct stat of{};
  if (::lstat(path.c_str(), &of) != 0) return;
  if (!S_ISDIR(of.st_mode)) {
    (void)::unlink(path.c_str());
    return;
  }
  // Its folders one after another: what is deep must not be deep on the stack.
  std::vector<std::string> folders{path};
  for (std::size_t i = 0; i < folders.size(); ++i) {
    const std::string folder = folders[i];
    const std::unique_ptr<DIR, int (*)(DIR*)> entries(::opendir(folder.c_str()), &::closedir);
    if (!entries) continue;
    while (const dirent* entry = ::readdir(entries.get())) {
      const std::string name(entry->d_name);
      if (name == "." || name == "..") continue;
      const std::string one = folder + "/" + name;
      if (::unlink(one.c_str()) != 0 && errno == EISDIR) folders.push_back(one);
    }
  }
  for (auto folder = folders.rbegin(); folder != folders.rend(); ++folder)
    (void)::rmdir(folder->c_str());
}

class Unpacker {
 public:
  Unpacker(const Limits& limits, ArchiveKind kind)
      : limits_(limits),
        is_layer_(kind == ArchiveKind::layer),
        in_(archive_read_new()),
        out_(archive_write_disk_new()) {
    archive_read_support_filter_gzip(in_.get());
    archive_read_support_filter_bzip2(in_.get());
    archive_read_support_filter_xz(in_.get());
    archive_read_support_filter_zstd(in_.get());
    archive_read_support_format_tar(in_.get());
    archive_read_support_format_empty(in_.get());
    archive_write_disk_set_options(out_.get(), ARCHIVE_EXTRACT_PERM | ARCHIVE_EXTRACT_TIME |
                                                   ARCHIVE_EXTRACT_UNLINK |
                                                   ARCHIVE_EXTRACT_SECURE_NODOTDOT);
  }

  Limits unpack(int archive) {
    check(archive_read_open_fd(in_.get(), archive, 1 << 16));
    for (;;) {
      archive_entry* entry = nullptr;
      const int status = archive_read_next_header(in_.get(), &entry);
      if (status == ARCHIVE_EOF) break;
      check(status);
      take(entry);
    }
    if (archive_write_close(out_.get()) < ARCHIVE_WARN) fail(out_.get());
    return {.bytes = bytes_, .files = files_};
  }

 private:
  [[noreturn]] static void fail(archive* a) {
    const char* const text = archive_error_string(a);
    throw Refused(text == nullptr ? "it is damaged" : text);
  }
  void check(int status) {
    if (status < ARCHIVE_WARN) fail(in_.get());
  }

  void take(archive_entry* entry) {
    if (++files_ > limits_.files)
      throw Refused("it has more than " + std::to_string(limits_.files) + " files");
    const std::string path = plain_path(archive_entry_pathname(entry));
    if (path.empty()) return;
    const auto [folder, name] = split(path);
    if (is_layer_ && name.starts_with(whiteout)) count(archive_entry_size(entry));
    if (is_layer_ && name == opaque) return hide_folder(folder);
    if (is_layer_ && name.starts_with(whiteout)) {
      const std::string hidden = name.substr(whiteout.size());
      if (hidden.empty() || hidden == "." || hidden == "..")
        throw Refused("the name '" + path + "' takes nothing away");
      return remove_tree(folder + "/" + hidden);
    }
    const auto kind = archive_entry_filetype(entry);
    const bool is_link = archive_entry_hardlink(entry) != nullptr;
    if (!is_link && kind != AE_IFREG && kind != AE_IFDIR && kind != AE_IFLNK && kind != AE_IFIFO)
      return count(archive_entry_size(entry));
    archive_entry_set_pathname(entry, path.c_str());
    if (is_link)
      archive_entry_set_hardlink(entry, plain_path(archive_entry_hardlink(entry)).c_str());
    archive_entry_xattr_clear(entry);
    archive_entry_acl_clear(entry);
    archive_entry_set_fflags(entry, 0, 0);
    // On this machine another user could run it there, as who owns the store.
    if (kind != AE_IFDIR) archive_entry_set_perm(entry, archive_entry_perm(entry) & 01777);
    if (is_layer_) own(path);
    if (archive_write_header(out_.get(), entry) < ARCHIVE_WARN) fail(out_.get());
    if (!is_link || archive_entry_size(entry) > 0) copy_data();
    if (archive_write_finish_entry(out_.get()) < ARCHIVE_WARN) fail(out_.get());
  }

  // Of what is not kept too: it is unpacked to be passed over.
  void count(la_int64_t bytes) {
    const auto more = static_cast<std::uint64_t>(std::max<la_int64_t>(bytes, 0));
    if (more > limits_.bytes - bytes_)
      throw Refused("its files have more than " + std::to_string(limits_.bytes) + " bytes");
    bytes_ += more;
  }

  void copy_data() {
    for (;;) {
      const void* data = nullptr;
      std::size_t size = 0;
      la_int64_t offset = 0;
      const int status = archive_read_data_block(in_.get(), &data, &size, &offset);
      if (status == ARCHIVE_EOF) return;
      check(status);
      count(static_cast<la_int64_t>(size));
      if (archive_write_data_block(out_.get(), data, size, offset) < ARCHIVE_WARN) fail(out_.get());
    }
  }

  // With the folders that are made on the way.
  void own(std::string path) {
    while (path != "." && own_.insert(path).second) path = split(path).first;
  }

  // What lower layers have in the folder goes; what this one has put there stays. Once is enough,
  // and as often as it is said would take time without end.
  void hide_folder(const std::string& folder) {
    if (!hidden_.insert(folder).second) return;
    const std::unique_ptr<DIR, int (*)(DIR*)> entries(::opendir(folder.c_str()), &::closedir);
    if (!entries) return;
    std::vector<std::string> hidden;
    while (const dirent* entry = ::readdir(entries.get())) {
      const std::string name(entry->d_name);
      const std::string path = folder == "." ? name : folder + "/" + name;
      if (name != "." && name != ".." && !own_.contains(path)) hidden.push_back(path);
    }
    for (const std::string& path : hidden) remove_tree(path);
  }

  const Limits limits_;
  const bool is_layer_;
  std::unique_ptr<archive, ReadEnd> in_;
  std::unique_ptr<archive, WriteEnd> out_;
  std::uint64_t bytes_ = 0;
  std::uint64_t files_ = 0;
  std::set<std::string> own_;     // of this layer
  std::set<std::string> hidden_;  // folders of lower ones
};

}  // namespace

Limits unpack_archive(int archive, ArchiveKind kind, const Limits& limits) {
  return Unpacker(limits, kind).unpack(archive);
}

}  // namespace cloche::unpack
