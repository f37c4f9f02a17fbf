// SPDX-License-Identifier: Apache-2.0
// Wake: lets any thread wake the one that polls. Thread-safe.
#pragma once

#include <sys/eventfd.h>

#include <cerrno>
#include <cstdint>

#include "base/host_error.h"
#include "base/unique_fd.h"

namespace cloche::ssh {

class Wake {
 public:
  Wake() : fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (!fd_) throw HostError::from_errno("cannot serve an SSH connection", errno);
  }
  int fd() const noexcept { return fd_.get(); }
  void set() const noexcept {
    const std::uint64_t one = 1;
    while (::write(fd_.get(), &one, sizeof one) < 0 && errno == EINTR) {
    }
  }
  void clear() const noexcept {
    std::uint64_t count = 0;
    while (::read(fd_.get(), &count, sizeof count) < 0 && errno == EINTR) {
    }
  }

 private:
  UniqueFd fd_;
};

}  // namespace cloche::ssh
