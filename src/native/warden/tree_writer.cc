// SPDX-License-Identifier: Apache-2.0
#include "native/warden/tree_writer.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "native/warden/entries.h"
#include "native/warden/fd.h"
#include "native/warden/tree_stream.h"

namespace cloche::warden {
namespace {

using Kind = TreeItem::Kind;

constexpr int folder_flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

timespec time_of(std::int64_t ns) {
  constexpr std::int64_t second = 1'000'000'000;
  const std::int64_t rest = ns % second;
  return {.tv_sec = ns / second - (rest < 0 ? 1 : 0), .tv_nsec = rest < 0 ? rest + second : rest};
}

bool is_good_name(std::string_view name) {
  return !name.empty() && name != "." && name != ".." && name.size() <= 255;
}

// False, with errno.
bool remove_all(int parent, const char* name, int depth) {
  if (::unlinkat(parent, name, 0) == 0 || errno == ENOENT) return true;
  if (errno != EISDIR && errno != EPERM) return false;
  if (depth > most_tree_depth) {
    errno = ENAMETOOLONG;
    return false;
  }
  const int fd = ::openat(parent, name, folder_flags);
  DIR* const entries = entries_of(fd);
  if (entries == nullptr) return false;
  bool done = true;
  while (const dirent* const entry = ::readdir(entries)) {
    if (std::strcmp(entry->d_name, ".") == 0 || std::strcmp(entry->d_name, "..") == 0) continue;
    done = done && remove_all(fd, entry->d_name, depth + 1);
  }
  const int error = errno;
  ::closedir(entries);
  errno = error;
  return done && ::unlinkat(parent, name, AT_REMOVEDIR) == 0;
}

class TreeWriter {
 public:
  TreeWriter(int from, const TreeLimits& limits)
      : from_(from), limits_(limits), root_(::open("/", folder_flags)) {
    struct stat of{};
    if (!root_ || ::fstat(root_.get(), &of) != 0) error_ = errno;
    device_ = of.st_dev;
  }

  // An errno; 0: all is as the stream says.
  int write() {
    while (error_ == 0) {
      TreeItem item;
      std::string path, bytes;
      if (!next(item, path, bytes)) break;
      if (item.kind == Kind::end) return 0;
      charge(item);
      take(item, path, bytes);
    }
    return error_ != 0 ? error_ : EINVAL;
  }

 private:
  void fail(int error) {
    if (error_ == 0) error_ = error;
  }
  void need(bool done) {
    if (!done) fail(errno);
  }

  // Before anything of it is made.
  void charge(const TreeItem& item) {
    if (item.kind != Kind::data && item.kind != Kind::attribute && limits_.files-- == 0)
      fail(EDQUOT);
    if (item.bytes > limits_.bytes) return fail(EDQUOT);
    limits_.bytes -= item.bytes;
  }

  bool read_all(char* to, std::size_t size) {
    while (size > 0) {
      if (at_ == have_) {
        const ssize_t got = ::read(from_, buffer_.data(), buffer_.size());
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        at_ = 0;
        have_ = static_cast<std::size_t>(got);
      }
      const std::size_t some = std::min(size, have_ - at_);
      std::memcpy(to, buffer_.data() + at_, some);
      at_ += some;
      to += some;
      size -= some;
    }
    return true;
  }

  bool next(TreeItem& item, std::string& path, std::string& bytes) {
    if (!read_all(reinterpret_cast<char*>(&item), sizeof item) ||
        item.path_bytes > most_tree_path || item.bytes > most_tree_bytes)
      return false;
    path.resize(item.path_bytes);
    bytes.resize(item.bytes);
    return read_all(path.data(), path.size()) && read_all(bytes.data(), bytes.size()) &&
           path.find('\0') == std::string::npos;
  }

  struct Way {
    std::string name;
    Fd folder;
  };
  struct Place {
    Fd folder;         // none: it is not the box's own, or an error
    std::string name;  // in it
  };

  // Never through a link, nor into what is mounted. EINVAL: it is no path. Of the folders on the way
  // those are open still that lead to the last place, too, which nothing has taken away since.
  Place place_of(std::string_view path) {
    std::size_t depth = 0;
    for (;; ++depth) {
      const std::size_t slash = path.find('/');
      const std::string_view name = path.substr(0, slash);
      if (!is_good_name(name) || depth > most_tree_depth) {
        fail(EINVAL);
        return {};
      }
      if (slash == std::string_view::npos) break;
      path.remove_prefix(slash + 1);
      if (depth < way_.size() && way_[depth].name == name) continue;
      leave(depth);
      Way next{std::string(name), {}};
      next.folder = own_folder(here(), next.name.c_str());
      if (!next.folder) return {};
      way_.push_back(std::move(next));
    }
    leave(depth);
    Place place{Fd(::fcntl(here(), F_DUPFD_CLOEXEC, 0)), std::string(path)};
    need(static_cast<bool>(place.folder));
    return is_file_of_host(here(), place.name.c_str()) ? Place() : std::move(place);
  }

  int here() const { return way_.empty() ? root_.get() : way_.back().folder.get(); }
  void leave(std::size_t depth) {
    if (depth < way_.size())
      way_.erase(way_.begin() + static_cast<std::ptrdiff_t>(depth), way_.end());
  }

  // By the mount itself: on an overlay files have devices of their layers.
  static bool is_file_of_host(int folder, const char* name) {
    struct statx of{};
    return ::statx(folder, name, AT_SYMLINK_NOFOLLOW, STATX_TYPE, &of) == 0 &&
           !S_ISDIR(of.stx_mode) && (of.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
  }

  // None where something is mounted.
  Fd own_folder(int parent, const char* name) {
    Fd folder(::openat(parent, name, folder_flags));
    struct stat of{};
    if (!folder || ::fstat(folder.get(), &of) != 0) {
      fail(errno);
      return {};
    }
    return of.st_dev == device_ ? std::move(folder) : Fd();
  }

  void take(const TreeItem& item, const std::string& path, const std::string& bytes) {
    switch (item.kind) {
      case Kind::data: return write_data(item.number, bytes);
      case Kind::attribute:
        if (current_)
          need(::fsetxattr(current_.get(), path.c_str(), bytes.data(), bytes.size(), 0) == 0);
        return;
      case Kind::file_end: return finish(current_, item);
      default: break;
    }
    current_.reset();
    if (error_ != 0) return;
    const Place place = place_of(path);
    if (!place.folder || error_ != 0) return;
    const int folder = place.folder.get();
    const char* const name = place.name.c_str();
    switch (item.kind) {
      case Kind::folder: return begin_folder(item, folder, name);
      case Kind::folder_end: {
        Fd ended = own_folder(folder, name);
        return finish(ended, item);
      }
      case Kind::file:
        need(remove_all(folder, name, 0));
        if (error_ != 0) return;
        current_.reset(
            ::openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
        need(current_ && ::ftruncate(current_.get(), static_cast<off_t>(item.number)) == 0);
        return;
      case Kind::link:
        need(remove_all(folder, name, 0) && ::symlinkat(bytes.c_str(), folder, name) == 0);
        return set_times(folder, name, item);
      case Kind::hard_link: {
        const Place first = place_of(bytes);
        need(remove_all(folder, name, 0));
        if (error_ == 0 && first.folder)
          need(::linkat(first.folder.get(), first.name.c_str(), folder, name, 0) == 0);
        return;
      }
      case Kind::pipe:
        need(remove_all(folder, name, 0) && ::mkfifoat(folder, name, item.mode & 07777) == 0);
        return set_times(folder, name, item);
      case Kind::removed: return need(remove_all(folder, name, 0));
      default: return fail(EINVAL);
    }
  }

  void begin_folder(const TreeItem& item, int folder, const char* name) {
    struct stat of{};
    const bool is_there =
        ::fstatat(folder, name, &of, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(of.st_mode);
    if (is_there && of.st_dev != device_) return;
    if (!is_there || item.hides_image) {
      need(remove_all(folder, name, 0) && ::mkdirat(folder, name, 0700) == 0);
      if (error_ != 0) return;
    }
    current_ = own_folder(folder, name);
  }

  void write_data(std::uint64_t at, const std::string& bytes) {
    std::size_t done = 0;
    while (current_ && error_ == 0 && done < bytes.size()) {
      const ssize_t some = ::pwrite(current_.get(), bytes.data() + done, bytes.size() - done,
                                    static_cast<off_t>(at + done));
      need(some >= 0 || errno == EINTR);
      if (some > 0) done += static_cast<std::size_t>(some);
    }
  }

  void finish(Fd& what, const TreeItem& item) {
    if (what) {
      const std::array<timespec, 2> times{time_of(item.accessed_ns), time_of(item.modified_ns)};
      need(::fchmod(what.get(), item.mode & 07777) == 0 &&
           ::futimens(what.get(), times.data()) == 0);
    }
    what.reset();
  }

  void set_times(int folder, const char* name, const TreeItem& item) {
    if (error_ != 0) return;
    const std::array<timespec, 2> times{time_of(item.accessed_ns), time_of(item.modified_ns)};
    need(::utimensat(folder, name, times.data(), AT_SYMLINK_NOFOLLOW) == 0);
  }

  const int from_;
  TreeLimits limits_;  // what is left of them
  Fd root_;
  dev_t device_ = 0;
  int error_ = 0;
  std::vector<Way> way_;  // to the folder of the last place, from the root on
  Fd current_;            // what has begun; none: it is left alone
  std::vector<char> buffer_ = std::vector<char>(most_tree_bytes);
  std::size_t at_ = 0, have_ = 0;
};

}  // namespace

int write_tree(int from, const TreeLimits& limits) { return TreeWriter(from, limits).write(); }

}  // namespace cloche::warden
