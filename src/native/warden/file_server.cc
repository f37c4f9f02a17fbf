// SPDX-License-Identifier: Apache-2.0
#include "native/warden/file_server.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "native/warden/entries.h"
#include "native/warden/fd.h"
#include "native/warden/home.h"
#include "native/warden/packet.h"

namespace cloche::warden {
namespace {

constexpr std::int64_t ns_per_s = 1'000'000'000;
constexpr int most_depth = 2000;

std::int64_t ns_of(std::int64_t seconds, std::uint32_t ns) {
  std::int64_t total = 0;
  if (__builtin_mul_overflow(seconds, ns_per_s, &total)) return 0;
  return __builtin_add_overflow(total, std::int64_t{ns}, &total) ? 0 : total;
}

timespec time_of(std::int64_t ns) {
  std::int64_t seconds = ns / ns_per_s;
  std::int64_t rest = ns % ns_per_s;
  if (rest < 0) {
    rest += ns_per_s;
    --seconds;
  }
  return {static_cast<time_t>(seconds), static_cast<long>(rest)};
}

// 0 or an errno, as the C library has it.
int error_of(long result) { return result < 0 ? errno : 0; }

int remove_folder(int parent, const char* name, int depth);

int remove_one(int parent, const char* name, int depth) {
  if (::unlinkat(parent, name, 0) == 0) return 0;
  return errno == EISDIR ? remove_folder(parent, name, depth) : errno;
}

// What is in it, then itself. Links are removed, not followed.
int remove_folder(int parent, const char* name, int depth) {
  if (depth > most_depth) return ENAMETOOLONG;
  const int folder = ::openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  DIR* const entries = entries_of(folder);
  if (entries == nullptr) return errno;
  int error = 0;
  while (const dirent* entry = ::readdir(entries)) {
    const std::string_view one(entry->d_name);
    if (one == "." || one == "..") continue;
    error = remove_one(folder, entry->d_name, depth + 1);
    if (error != 0) break;
  }
  ::closedir(entries);
  return error != 0 ? error : error_of(::unlinkat(parent, name, AT_REMOVEDIR));
}

class FileServer {
 public:
  explicit FileServer(int channel) : channel_(channel) {}

  void serve() {
    for (;;) {
      Packet packet;
      const long got = receive(channel_, in_, packet);
      if (got < static_cast<long>(sizeof(FileRequest))) return;
      FileRequest request;
      std::memcpy(&request, in_.data(), sizeof request);
      rest_ =
          std::span(in_).subspan(sizeof request, static_cast<std::size_t>(got) - sizeof request);
      if (request.op == FileOp::list) {
        list();
      } else {
        answer_.error = perform(request);
        send_answer();
      }
      out_size_ = 0;
      answer_ = {};
    }
  }

 private:
  int perform(const FileRequest& request) {
    switch (request.op) {
      case FileOp::open: return open(request);
      case FileOp::close: return close(request.handle);
      case FileOp::read: return read(request);
      case FileOp::write:
      case FileOp::append: return write(request);
      case FileOp::truncate:
        return error_of(::ftruncate(file(request.handle), static_cast<off_t>(request.offset)));
      case FileOp::fill_holes: return fill_holes(request);
      case FileOp::handle_mode:
        return error_of(::fchmod(file(request.handle), request.mode & 07777));
      case FileOp::handle_times: {
        const auto times = times_of(request);
        return error_of(::futimens(file(request.handle), times.data()));
      }
      case FileOp::handle_stat: return describe(file(request.handle), "", AT_EMPTY_PATH);
      default: return at_path(request);
    }
  }

  int at_path(const FileRequest& request) {
    const char* const path = text();
    const char* const other = path == nullptr ? nullptr : text();
    if (other == nullptr) return EINVAL;
    switch (request.op) {
      case FileOp::stat: return describe(AT_FDCWD, path, 0);
      case FileOp::link_stat: return describe(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW);
      case FileOp::make_directory: return error_of(::mkdir(path, request.mode & 07777));
      case FileOp::make_folders: return make_folders(path);
      case FileOp::remove:
        if (::unlink(path) == 0) return 0;
        return errno == EISDIR ? error_of(::rmdir(path)) : errno;
      case FileOp::remove_all: return remove_one(AT_FDCWD, path, 0);
      case FileOp::rename: return rename(path, other, request.number);
      case FileOp::change_mode: return error_of(::chmod(path, request.mode & 07777));
      case FileOp::change_owner: return change_owner(path, request);
      case FileOp::set_times:
      case FileOp::set_link_times: {
        const auto times = times_of(request);
        const int follow = request.op == FileOp::set_times ? 0 : AT_SYMLINK_NOFOLLOW;
        return error_of(::utimensat(AT_FDCWD, path, times.data(), follow));
      }
      case FileOp::symlink: return error_of(::symlink(other, path));
      case FileOp::link: return error_of(::linkat(AT_FDCWD, other, AT_FDCWD, path, 0));
      case FileOp::resolve: return resolve(path);
      case FileOp::attribute_names:
        return give(::listxattr(path, reinterpret_cast<char*>(out_.data()), most_attribute));
      case FileOp::attribute: return give(::getxattr(path, other, out_.data(), most_attribute));
      case FileOp::set_attribute:
        return error_of(::setxattr(path, other, rest_.data(), rest_.size(), 0));
      case FileOp::remove_attribute: return error_of(::removexattr(path, other));
      default: return ENOSYS;
    }
  }

  // A filter may answer the call, without a look at what is there.
  static int change_owner(const char* path, const FileRequest& request) {
    struct stat of{};
    if (::stat(path, &of) != 0) return errno;
    return error_of(::chown(path, request.user, request.group));
  }

  static std::array<timespec, 2> times_of(const FileRequest& request) {
    return {time_of(request.accessed_ns), time_of(request.modified_ns)};
  }

  // What a call has put into the answer: a size, or -1.
  int give(ssize_t size) {
    if (size < 0) return errno;
    out_size_ = static_cast<std::size_t>(size);
    return 0;
  }

  int resolve(const char* path) {
    std::array<char, PATH_MAX> whole{};
    if (::realpath(path, whole.data()) == nullptr) return errno;
    const std::string_view found(whole.data());
    std::memcpy(out_.data(), found.data(), found.size());
    out_size_ = found.size();
    return 0;
  }

  // The next string of the request; null where there is none.
  const char* text() {
    const auto end = std::find(rest_.begin(), rest_.end(), std::byte{0});
    if (end == rest_.end()) return nullptr;
    const char* const found = reinterpret_cast<const char*>(rest_.data());
    rest_ = rest_.subspan(static_cast<std::size_t>(end - rest_.begin()) + 1);
    return found;
  }

  int file(std::uint32_t handle) const {
    return handle < most_handles ? handles_[handle].get() : -1;
  }

  // Never waits: a fifo or a device opens at once or not at all, and is none of ours but /dev/null,
  // where clients of SFTP send what they throw away.
  int open(const FileRequest& request) {
    const auto free =
        std::find_if(handles_.begin(), handles_.end(), [](const Fd& one) { return !one; });
    const char* const path = text();
    if (path == nullptr) return EINVAL;
    if (free == handles_.end()) return EMFILE;
    const auto has = [&](std::uint32_t flag) { return (request.number & flag) != 0; };
    int how = O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
    how |= !has(file_open::write) ? O_RDONLY : has(file_open::read) ? O_RDWR : O_WRONLY;
    if (has(file_open::create)) how |= O_CREAT;
    if (has(file_open::exclusive)) how |= O_EXCL;
    // One that is there is told from a new one.
    Fd opened(::open(path, has(file_open::create) ? how | O_EXCL : how, request.mode & 07777));
    answer_.made = opened && has(file_open::create) ? 1 : 0;
    if (!opened && errno == EEXIST && !has(file_open::exclusive))
      opened = Fd(::open(path, how, request.mode & 07777));
    if (!opened) return errno;
    struct stat of{};
    if (::fstat(opened.get(), &of) != 0) return errno;
    if (S_ISDIR(of.st_mode)) return EISDIR;
    const bool is_null = S_ISCHR(of.st_mode) && of.st_rdev == makedev(1, 3);
    if (!S_ISREG(of.st_mode) && !is_null) return ENXIO;
    if (has(file_open::truncate) && !is_null && ::ftruncate(opened.get(), 0) != 0) return errno;
    *free = std::move(opened);
    answer_.handle = static_cast<std::uint32_t>(free - handles_.begin());
    return 0;
  }

  int close(std::uint32_t handle) {
    if (file(handle) < 0) return EBADF;
    handles_[handle].reset();
    return 0;
  }

  int read(const FileRequest& request) {
    const std::size_t size = std::min<std::size_t>(request.number, most_piece);
    return give(
        ::pread(file(request.handle), out_.data(), size, static_cast<off_t>(request.offset)));
  }

  int write(const FileRequest& request) {
    const bool at_end = request.op == FileOp::append;
    auto offset = static_cast<off_t>(request.offset);
    if (!at_end && offset < 0) return EFBIG;  // to Linux -1 is where the file has been left
    while (!rest_.empty()) {
      const iovec part{rest_.data(), rest_.size()};
      ssize_t done =
          ::pwritev2(file(request.handle), &part, 1, at_end ? -1 : offset, at_end ? RWF_APPEND : 0);
      if (done < 0 && at_end && errno == EOPNOTSUPP) done = append(file(request.handle), part);
      if (done < 0) return errno;
      rest_ = rest_.subspan(static_cast<std::size_t>(done));
      offset += done;
    }
    return 0;
  }

  // Most files have no holes, of which a look costs nothing.
  int fill_holes(const FileRequest& request) {
    const int fd = file(request.handle);
    const auto end = static_cast<off_t>(request.offset);
    struct stat of{};
    if (::fstat(fd, &of) != 0) return errno;
    const off_t most = std::min(end, of.st_size);
    const off_t hole = most > 0 ? ::lseek(fd, 0, SEEK_HOLE) : 0;
    if (hole >= 0 && hole < most) {
      const int error = error_of(::fallocate(fd, 0, hole, most - hole));
      if (error != 0 && error != EOPNOTSUPP) return error;
    }
    return describe(fd, "", AT_EMPTY_PATH);
  }

  // Where the file system cannot promise that nothing is there it is looked at before.
  static int rename(const char* from, const char* to, std::uint32_t keep) {
    if (keep == 0) return error_of(::rename(from, to));
    const int error = error_of(::renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE));
    if (error != EINVAL && error != ENOSYS) return error;
    struct stat there{};
    if (::lstat(to, &there) == 0) return EEXIST;
    return error_of(::rename(from, to));
  }

  // As gVisor has it, which knows no such flag of a call.
  static ssize_t append(int file, const iovec& part) {
    const int flags = ::fcntl(file, F_GETFL);
    if (flags < 0 || ::fcntl(file, F_SETFL, flags | O_APPEND) != 0) return -1;
    const ssize_t done = ::writev(file, &part, 1);
    const int error = errno;
    (void)::fcntl(file, F_SETFL, flags);
    errno = error;
    return done;
  }

  // An entry behind what there is already. False: it does not fit.
  bool add_entry(int folder, const char* name, int flags, std::string_view shown, int& error) {
    struct statx of{};
    error = error_of(
        ::statx(folder, name, flags | AT_NO_AUTOMOUNT, STATX_BASIC_STATS | STATX_BTIME, &of));
    if (error != 0) return true;
    std::array<char, most_path> target{};
    ssize_t target_size = 0;
    if (S_ISLNK(of.stx_mode))
      target_size = std::max<ssize_t>(::readlinkat(folder, name, target.data(), target.size()), 0);
    FileEntry entry{.size = of.stx_size,
                    .modified_ns = ns_of(of.stx_mtime.tv_sec, of.stx_mtime.tv_nsec),
                    .created_ns = (of.stx_mask & STATX_BTIME) != 0
                                      ? ns_of(of.stx_btime.tv_sec, of.stx_btime.tv_nsec)
                                      : ns_of(of.stx_ctime.tv_sec, of.stx_ctime.tv_nsec),
                    .accessed_ns = ns_of(of.stx_atime.tv_sec, of.stx_atime.tv_nsec),
                    .inode = of.stx_ino,
                    .mode = of.stx_mode,
                    .user = of.stx_uid,
                    .group = of.stx_gid,
                    .name_bytes = static_cast<std::uint16_t>(shown.size()),
                    .target_bytes = static_cast<std::uint16_t>(target_size)};
    const std::size_t size = sizeof entry + entry.name_bytes + entry.target_bytes;
    if (size > out_.size() - out_size_) return false;
    std::byte* to = out_.data() + out_size_;
    std::memcpy(to, &entry, sizeof entry);
    std::memcpy(to + sizeof entry, shown.data(), shown.size());
    std::memcpy(to + sizeof entry + shown.size(), target.data(),
                static_cast<std::size_t>(target_size));
    out_size_ += size;
    return true;
  }

  int describe(int folder, const char* name, int flags) {
    if (folder == -1) return EBADF;
    int error = 0;
    (void)add_entry(folder, name, flags, {}, error);
    return error;
  }

  void list() {
    const char* const path = text();
    DIR* const entries = path == nullptr ? nullptr : ::opendir(path);
    if (entries == nullptr) {
      answer_.error = path == nullptr ? EINVAL : errno;
      return send_answer();
    }
    while (const dirent* entry = ::readdir(entries)) {
      const std::string_view name(entry->d_name);
      if (name == "." || name == "..") continue;
      int error = 0;
      const auto add = [&] {
        return add_entry(::dirfd(entries), entry->d_name, AT_SYMLINK_NOFOLLOW, name, error);
      };
      if (add()) continue;  // one that is gone meanwhile is left out
      answer_.last = 0;
      send_answer();
      out_size_ = 0;
      (void)add();
    }
    ::closedir(entries);
    answer_.last = 1;
    send_answer();
  }

  void send_answer() {
    answer_.bytes = static_cast<std::uint32_t>(out_size_);
    const std::array<std::span<const std::byte>, 2> parts{
        std::as_bytes(std::span(&answer_, 1)), std::span<const std::byte>(out_.data(), out_size_)};
    if (!send(channel_, parts, {})) ::_exit(0);
  }

  int channel_;
  std::array<Fd, most_handles> handles_;
  FileAnswer answer_;
  std::span<std::byte> rest_;
  std::size_t out_size_ = 0;
  std::array<std::byte, sizeof(FileRequest) + most_piece> in_{};
  std::array<std::byte, most_piece> out_{};
};

}  // namespace

void serve_files(int channel, const WallPlan& wall, const Filter& filter) noexcept {
  constexpr int own_channel = 3;
  static FileServer server(own_channel);
  if (::setsid() < 0 || (channel != own_channel && ::dup2(channel, own_channel) < 0) ||
      ::close_range(own_channel + 1, ~0U, 0) != 0)
    ::_exit(1);
  ::umask(0);  // modes are what was asked for
  if (const Outcome walled = enter_wall(wall, filter); !walled) {
    (void)send_record(own_channel, FileAnswer{.error = walled.error});
    ::_exit(1);
  }
  server.serve();
  ::_exit(0);
}

}  // namespace cloche::warden
