// SPDX-License-Identifier: Apache-2.0
#include "native/warden/tree_copy.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstring>

#include "native/warden/entries.h"
#include "native/warden/fd.h"

namespace cloche::warden {
namespace {

constexpr int most_depth = 2000;  // of a path of 4096 bytes
// What an overlay notes of a folder that hides the one below it.
constexpr std::array overlay_marks{"user.overlay.opaque", "user.overlay.whiteout",
                                   "user.overlay.xattr"};

bool is_dots(const char* name) {
  return std::strcmp(name, ".") == 0 || std::strcmp(name, "..") == 0;
}

void copy_marks(int from, int to) {
  std::array<char, 64> value{};
  for (const char* name : overlay_marks) {
    const ssize_t size = ::fgetxattr(from, name, value.data(), value.size());
    if (size >= 0) (void)::fsetxattr(to, name, value.data(), static_cast<std::size_t>(size), 0);
  }
}

long copy_times(int folder, const char* name, const struct stat& of) {
  const std::array<timespec, 2> times{of.st_atim, of.st_mtim};
  return ::utimensat(folder, name, times.data(), AT_SYMLINK_NOFOLLOW);
}

// Data alone, of which there is room for so much: what is a hole stays one.
long copy_content(int from, int to, off_t size, std::uint64_t& room) {
  if (::ftruncate(to, size) != 0) return -1;
  off_t at = 0;
  while (at < size) {
    const off_t data = ::lseek(from, at, SEEK_DATA);
    if (data < 0) return errno == ENXIO ? 0 : -1;
    const off_t end = ::lseek(from, data, SEEK_HOLE);
    if (end < 0) return -1;
    const auto bytes = static_cast<std::uint64_t>(end - data);
    if (bytes > room) {
      errno = EDQUOT;
      return -1;
    }
    room -= bytes;
    off_t in = data, out = data;
    while (in < end) {
      ssize_t done = ::copy_file_range(from, &in, to, &out, static_cast<std::size_t>(end - in), 0);
      if (done < 0 && (errno == EXDEV || errno == EOPNOTSUPP || errno == EINVAL)) {
        std::array<char, 65536> piece{};
        done = ::pread(from, piece.data(), piece.size(), in);
        if (done > 0) done = ::pwrite(to, piece.data(), static_cast<std::size_t>(done), out);
        if (done > 0) {
          in += done;
          out += done;
        }
      }
      if (done < 0) return -1;
      if (done == 0) return 0;  // it has become shorter meanwhile
    }
    at = end;
  }
  return 0;
}

long copy_file(int from, int to, const char* name, const struct stat& of, std::uint64_t& room) {
  const Fd source(::openat(from, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  const Fd copy(::openat(to, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!source || !copy) return -1;
  if (copy_content(source.get(), copy.get(), of.st_size, room) != 0) return -1;
  copy_marks(source.get(), copy.get());
  if (::fchmod(copy.get(), of.st_mode & 07777) != 0) return -1;
  return copy_times(to, name, of);
}

class Copy {
 public:
  enum class Files : bool { copied, linked };
  Copy(Files how, const TreeLimits& limits) : are_linked_(how == Files::linked), left_(limits) {}

  Outcome folder(int from, int to, int depth) {
    if (depth > most_depth) return {Step::copy, ENAMETOOLONG};
    DIR* const entries = entries_of(::openat(from, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (entries == nullptr) return {Step::copy, errno};
    Outcome outcome;
    for (;;) {
      errno = 0;
      const dirent* const entry = ::readdir(entries);
      if (entry == nullptr) {
        if (errno != 0) outcome = {Step::copy, errno};
        break;
      }
      if (is_dots(entry->d_name)) continue;
      outcome = one(from, to, entry->d_name, depth);
      if (!outcome) break;
    }
    ::closedir(entries);
    return outcome;
  }

 private:
  Outcome one(int from, int to, const char* name, int depth) {
    if (left_.files-- == 0) return {Step::copy, EDQUOT};
    struct stat of{};
    CLOCHE_STEP(Step::copy, ::fstatat(from, name, &of, AT_SYMLINK_NOFOLLOW));
    if (S_ISDIR(of.st_mode)) return sub_folder(from, to, name, of, depth);
    if (S_ISREG(of.st_mode)) {
      if (are_linked_ && ::linkat(from, name, to, name, 0) == 0) return {};
      return of.st_nlink > 1 ? linked_file(from, to, name, of)
                             : outcome_of(Step::copy, copy_file(from, to, name, of, left_.bytes));
    }
    if (S_ISLNK(of.st_mode)) return outcome_of(Step::copy, copy_link(from, to, name, of));
    if (S_ISFIFO(of.st_mode))
      return outcome_of(Step::copy, ::mkfifoat(to, name, of.st_mode & 07777));
    const bool is_whiteout = S_ISCHR(of.st_mode) && of.st_rdev == makedev(0, 0);
    return is_whiteout ? outcome_of(Step::copy, ::mknodat(to, name, S_IFCHR, makedev(0, 0)))
                       : Outcome{};
  }

  long copy_link(int from, int to, const char* name, const struct stat& of) {
    const ssize_t size = ::readlinkat(from, name, target_.data(), target_.size() - 1);
    if (size < 0) return -1;
    target_[static_cast<std::size_t>(size)] = '\0';
    return ::symlinkat(target_.data(), to, name) != 0 ? -1 : copy_times(to, name, of);
  }

  Outcome sub_folder(int from, int to, const char* name, const struct stat& of, int depth) {
    constexpr int how = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    const Fd source(::openat(from, name, how));
    CLOCHE_STEP(Step::copy, source.get());
    CLOCHE_STEP(Step::copy, ::mkdirat(to, name, 0700));
    const Fd copy(::openat(to, name, how));
    CLOCHE_STEP(Step::copy, copy.get());
    copy_marks(source.get(), copy.get());
    if (auto copied = folder(source.get(), copy.get(), depth + 1); !copied) return copied;
    CLOCHE_STEP(Step::copy, ::fchmod(copy.get(), of.st_mode & 07777));
    return outcome_of(Step::copy, copy_times(to, name, of));
  }

  // A further name of a file that has been copied is a link to the copy. Names beyond what is
  // remembered become files of their own.
  Outcome linked_file(int from, int to, const char* name, const struct stat& of) {
    for (std::size_t i = 0; i < known_; ++i) {
      if (links_[i].device != of.st_dev || links_[i].inode != of.st_ino) continue;
      std::array<char, 32> path{};
      std::snprintf(path.data(), path.size(), "/proc/self/fd/%d", links_[i].copy.get());
      if (::linkat(AT_FDCWD, path.data(), to, name, AT_SYMLINK_FOLLOW) == 0) return {};
      break;
    }
    CLOCHE_STEP(Step::copy, copy_file(from, to, name, of, left_.bytes));
    if (known_ < links_.size())
      links_[known_++] = {of.st_dev, of.st_ino,
                          Fd(::openat(to, name, O_PATH | O_NOFOLLOW | O_CLOEXEC))};
    return {};
  }

  struct Link {
    dev_t device = 0;
    ino_t inode = 0;
    Fd copy;
  };
  const bool are_linked_;
  TreeLimits left_;
  std::array<char, 4097> target_;  // of a link: it would be on the stack of each folder
  std::array<Link, 256> links_;
  std::size_t known_ = 0;
};

}  // namespace

Outcome copy_tree(int from, int to, const TreeLimits& limits) {
  return Copy(Copy::Files::copied, limits).folder(from, to, 0);
}

Outcome link_tree(int from, int to) { return Copy(Copy::Files::linked, {}).folder(from, to, 0); }

}  // namespace cloche::warden
