// SPDX-License-Identifier: Apache-2.0
// Fd: owns a descriptor. The warden knows no layer below it, so it has its own.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace cloche::warden {

class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) noexcept : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    reset(std::exchange(other.fd_, -1));
    return *this;
  }
  ~Fd() { reset(); }

  int get() const noexcept { return fd_; }
  explicit operator bool() const noexcept { return fd_ >= 0; }
  void reset(int fd = -1) noexcept {
    if (fd_ >= 0) ::close(fd_);
    fd_ = fd;
  }

 private:
  int fd_ = -1;
};

// A copy whose number is at least that; -1, with errno: EMFILE also where no number may be so high.
inline int copy_away(int fd, int least) noexcept {
  const int copy = ::fcntl(fd, F_DUPFD_CLOEXEC, least);
  if (copy < 0 && errno == EINVAL) errno = EMFILE;
  return copy;
}

}  // namespace cloche::warden
