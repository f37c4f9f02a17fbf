// SPDX-License-Identifier: Apache-2.0
#include "doors/lines/output.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "base/host_error.h"

namespace cloche::lines {

Output::Output(int fd) : fd_(fd), lost_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!lost_) throw HostError::from_errno("cannot make an eventfd", errno);
}

void Output::write_all(const std::string& line) noexcept {
  std::size_t done = 0;
  while (done < line.size() && !closed_) {
    const ssize_t written = ::write(fd_, line.data() + done, line.size() - done);
    if (written > 0) {
      done += static_cast<std::size_t>(written);
    } else if (written < 0 && errno == EAGAIN) {
      pollfd room{fd_, POLLOUT, 0};
      (void)::poll(&room, 1, -1);
    } else if (written == 0 || errno != EINTR) {
      closed_ = true;
      const std::uint64_t one = 1;
      (void)!::write(lost_.get(), &one, sizeof one);
    }
  }
}

void Output::send(std::string line) noexcept {
  line.push_back('\n');
  const MutexLock lock(mutex_);
  write_all(line);
}

void Output::send_last(std::string line) noexcept {
  line.push_back('\n');
  const MutexLock lock(mutex_);
  write_all(line);
  closed_ = true;
}

}  // namespace cloche::lines
