// SPDX-License-Identifier: Apache-2.0
#include "native/warden/tree_pack.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "native/warden/entries.h"
#include "native/warden/fd.h"
#include "native/warden/packet.h"
#include "native/warden/tree_stream.h"
#include "native/warden/wire.h"

namespace cloche::warden {
namespace {

using Kind = TreeItem::Kind;

constexpr std::string_view overlay_attributes = "user.overlay.";
constexpr const char* opaque_mark = "user.overlay.opaque";
constexpr std::size_t most_known_links = 1 << 16;

std::int64_t ns_of(const timespec& time) {
  return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

// The first failure, an errno, ends it.
class Packer {
 public:
  explicit Packer(int to) : to_(to) {}

  int pack(int changes) {
    folder(changes, 0);
    say({.kind = Kind::end}, {}, {});
    flush();
    return error_;
  }

 private:
  bool fail(int error) {
    if (error_ == 0) error_ = error;
    return false;
  }

  void say(TreeItem item, std::string_view path, std::string_view bytes) {
    if (error_ != 0) return;
    if (path.size() > most_tree_path || bytes.size() > most_tree_bytes) {
      fail(ENAMETOOLONG);
      return;
    }
    item.path_bytes = static_cast<std::uint16_t>(path.size());
    item.bytes = static_cast<std::uint32_t>(bytes.size());
    pending_.append(reinterpret_cast<const char*>(&item), sizeof item);
    pending_ += path;
    pending_ += bytes;
    if (pending_.size() >= most_tree_bytes) flush();
  }

  void flush() {
    std::size_t at = 0;
    while (error_ == 0 && at < pending_.size()) {
      const ssize_t done = ::write(to_, pending_.data() + at, pending_.size() - at);
      if (done < 0 && errno != EINTR) fail(errno);
      if (done > 0) at += static_cast<std::size_t>(done);
    }
    pending_.clear();
  }

  // In the order of their names, so that the same files are the same bytes.
  void folder(int fd, int depth) {
    if (depth > most_tree_depth) {
      fail(ENAMETOOLONG);
      return;
    }
    DIR* const entries = entries_of(::openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (entries == nullptr) {
      fail(errno);
      return;
    }
    std::vector<std::string> names;
    errno = 0;
    while (const dirent* const entry = ::readdir(entries)) {
      const std::string_view name(entry->d_name);
      if (name != "." && name != "..") names.emplace_back(name);
      errno = 0;
    }
    if (errno != 0) fail(errno);
    ::closedir(entries);
    std::ranges::sort(names);
    for (const std::string& name : names) {
      if (error_ != 0) return;
      const std::size_t before = path_.size();
      if (!path_.empty()) path_ += '/';
      path_ += name;
      one(fd, name.c_str(), depth);
      path_.resize(before);
    }
  }

  void one(int parent, const char* name, int depth) {
    struct stat of{};
    if (::fstatat(parent, name, &of, AT_SYMLINK_NOFOLLOW) != 0) {
      fail(errno);
      return;
    }
    TreeItem item{.mode = of.st_mode & 07777,
                  .number = static_cast<std::uint64_t>(of.st_size),
                  .accessed_ns = ns_of(of.st_atim),
                  .modified_ns = ns_of(of.st_mtim)};
    if (S_ISDIR(of.st_mode)) return sub_folder(parent, name, item, depth);
    if (S_ISREG(of.st_mode)) return file(parent, name, of, item);
    if (S_ISLNK(of.st_mode)) return link(parent, name, item);
    if (S_ISFIFO(of.st_mode)) {
      item.kind = Kind::pipe;
      say(item, path_, {});
    } else if (S_ISCHR(of.st_mode) && of.st_rdev == makedev(0, 0)) {
      item.kind = Kind::removed;
      say(item, path_, {});
    }  // a socket is its server's
  }

  // One that may not be read by its owner is made readable for the moment: nobody else runs.
  Fd open(int parent, const char* name, int how, std::uint32_t mode) {
    Fd fd(::openat(parent, name, how | O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (fd || errno != EACCES) return fd;
    const std::uint32_t needed = (how & O_DIRECTORY) != 0 ? 0500U : 0400U;
    if (::fchmodat(parent, name, mode | needed, 0) != 0) return fd;
    fd.reset(::openat(parent, name, how | O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    const int error = errno;
    if ((how & O_DIRECTORY) == 0) (void)!::fchmodat(parent, name, mode, 0);
    errno = error;
    return fd;
  }

  void sub_folder(int parent, const char* name, TreeItem item, int depth) {
    const Fd fd = open(parent, name, O_DIRECTORY, item.mode);
    if (!fd) {
      fail(errno);
      return;
    }
    std::array<char, 8> value{};
    item.kind = Kind::folder;
    item.hides_image =
        ::fgetxattr(fd.get(), opaque_mark, value.data(), value.size()) == 1 && value[0] == 'y';
    say(item, path_, {});
    attributes(fd.get());
    folder(fd.get(), depth + 1);
    (void)!::fchmod(fd.get(), item.mode);
    item.kind = Kind::folder_end;
    say(item, path_, {});
  }

  void attributes(int fd) {
    std::vector<char> names(most_attribute), value(most_attribute);
    const ssize_t size = ::flistxattr(fd, names.data(), names.size());
    if (size < 0) {  // a file system that has none
      if (errno != EOPNOTSUPP) fail(errno);
      return;
    }
    std::string_view rest(names.data(), static_cast<std::size_t>(size));
    while (!rest.empty()) {
      const std::size_t end = rest.find('\0');
      const char* const text = rest.data();  // each has a zero behind it
      const std::string_view name = rest.substr(0, end);
      rest.remove_prefix(std::min(end + 1, rest.size()));
      if (!name.starts_with("user.") || name.starts_with(overlay_attributes)) continue;
      const ssize_t got = ::fgetxattr(fd, text, value.data(), value.size());
      if (got < 0) {
        fail(errno);
        return;
      }
      say({.kind = Kind::attribute}, name,
          std::string_view(value.data(), static_cast<std::size_t>(got)));
    }
  }

  void file(int parent, const char* name, const struct stat& of, TreeItem item) {
    if (of.st_nlink > 1) {
      if (const auto known = links_.find(of.st_ino); known != links_.end()) {
        item.kind = Kind::hard_link;
        return say(item, path_, known->second);
      }
      if (links_.size() < most_known_links) links_.emplace(of.st_ino, path_);
    }
    const Fd fd = open(parent, name, 0, item.mode);
    if (!fd) {
      fail(errno);
      return;
    }
    item.kind = Kind::file;
    say(item, path_, {});
    attributes(fd.get());
    content(fd.get(), of.st_size);
    item.kind = Kind::file_end;
    say(item, path_, {});
  }

  // Data alone: what is a hole stays one. gVisor's files in memory do not say where they have holes:
  // what is zero is one.
  void content(int fd, off_t size) {
    off_t at = 0;
    while (error_ == 0 && at < size) {
      const off_t data = ::lseek(fd, at, SEEK_DATA);
      if (data < 0) {
        if (errno == EINVAL) return pieces(fd, 0, size);
        if (errno != ENXIO) fail(errno);
        return;
      }
      const off_t end = ::lseek(fd, data, SEEK_HOLE);
      if (end < 0) {
        fail(errno);
        return;
      }
      pieces(fd, data, end);
      at = end;
    }
  }

  void pieces(int fd, off_t at, off_t end) {
    while (error_ == 0 && at < end) {
      const auto wanted = std::min<std::size_t>(piece_.size(), static_cast<std::size_t>(end - at));
      const ssize_t got = ::pread(fd, piece_.data(), wanted, at);
      if (got < 0) {
        fail(errno);
        return;
      }
      if (got == 0) return;  // it has become shorter meanwhile
      const std::string_view piece(piece_.data(), static_cast<std::size_t>(got));
      if (piece.find_first_not_of('\0') != std::string_view::npos)
        say({.kind = Kind::data, .number = static_cast<std::uint64_t>(at)}, {}, piece);
      at += got;
    }
  }

  void link(int parent, const char* name, TreeItem item) {
    const ssize_t size = ::readlinkat(parent, name, piece_.data(), piece_.size());
    if (size < 0) {
      fail(errno);
      return;
    }
    item.kind = Kind::link;
    say(item, path_, std::string_view(piece_.data(), static_cast<std::size_t>(size)));
  }

  const int to_;
  int error_ = 0;
  std::string path_;
  std::string pending_;
  std::vector<char> piece_ = std::vector<char>(most_tree_bytes);
  std::map<ino_t, std::string> links_;  // to the first name of each
};

}  // namespace

int write_stream(int changes, int to) { return Packer(to).pack(changes); }

void pack_tree(int channel, int changes, int to, const WallPlan& wall,
               const Filter& filter) noexcept {
  (void)::signal(SIGPIPE, SIG_IGN);
  const Outcome walled = enter_wall(wall, filter);
  const int error = walled ? write_stream(changes, to) : walled.error;
  (void)send_record(channel, Answer{.value = error});
  ::_exit(0);
}

}  // namespace cloche::warden
