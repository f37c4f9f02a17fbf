// SPDX-License-Identifier: Apache-2.0
#include "doors/lines/input.h"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/host_error.h"

namespace cloche::lines {
namespace {

// Most lines are short: more is made room for once a read has filled this.
constexpr std::size_t few_bytes = 1U << 12;
constexpr std::size_t read_bytes = 1U << 18;
constexpr std::size_t kept_bytes = 1U << 12;  // of a line that is dropped

}  // namespace

Input::Input(const Options& options) : options_(options) {
  if (options.parent_pid <= 0) return;
  parent_.reset(static_cast<int>(::syscall(SYS_pidfd_open, options.parent_pid, 0)));
  if (parent_) return;
  if (errno != ESRCH) throw HostError::from_errno("cannot watch the process of the client", errno);
  parent_lost_ = true;
}

Input::Ready Input::wait() const {
  for (;;) {
    // Without events asked for, only the loss of the reader is reported.
    std::array<pollfd, 4> fds{pollfd{options_.in, POLLIN, 0}, pollfd{options_.out, 0, 0},
                              pollfd{parent_.get(), POLLIN, 0}, pollfd{options_.lost, POLLIN, 0}};
    if (::poll(fds.data(), fds.size(), -1) < 0) {
      if (errno == EINTR) continue;
      return Ready::lost;
    }
    if ((fds[1].revents & (POLLERR | POLLHUP)) != 0 || fds[2].revents != 0 || fds[3].revents != 0)
      return Ready::lost;
    if (fds[0].revents != 0) return Ready::input;
  }
}

bool Input::is_lost_within(int limit_ms) const {
  if (parent_lost_) return true;
  std::array<pollfd, 3> fds{pollfd{options_.out, 0, 0}, pollfd{parent_.get(), POLLIN, 0},
                            pollfd{options_.lost, POLLIN, 0}};
  (void)::poll(fds.data(), fds.size(), limit_ms);
  return (fds[0].revents & (POLLERR | POLLHUP)) != 0 || fds[1].revents != 0 || fds[2].revents != 0;
}

bool Input::cut_line() {
  const std::size_t end = buffer_.find('\n', searched_);
  if (end == std::string::npos) {
    searched_ = buffer_.size();
    return false;
  }
  line_.assign(buffer_, start_, end - start_);
  start_ = searched_ = end + 1;
  return true;
}

Input::Event Input::next() {
  if (parent_lost_) return Event::lost;
  for (;;) {
    while (cut_line()) {
      if (std::exchange(skipping_, false)) continue;
      if (line_.size() <= options_.line_limit_bytes) return Event::line;
      line_ = line_.substr(0, kept_bytes);
      return Event::too_long;
    }
    if (ended_) return Event::end;
    buffer_.erase(0, std::exchange(start_, 0));
    searched_ = buffer_.size();
    if (buffer_.size() > options_.line_limit_bytes || skipping_) {
      const bool is_known = std::exchange(skipping_, true);
      if (!is_known) line_.assign(buffer_, 0, kept_bytes);
      buffer_ = {};
      searched_ = 0;
      if (!is_known) return Event::too_long;
    }
    if (buffer_.empty() && buffer_.capacity() > 4 * read_bytes) buffer_.shrink_to_fit();
    if (wait() == Ready::lost) return Event::lost;
    const std::size_t had = buffer_.size();
    const std::size_t room = reads_much_ ? read_bytes : few_bytes;
    buffer_.resize(had + room);
    const ssize_t got = ::read(options_.in, buffer_.data() + had, room);
    reads_much_ = got == static_cast<ssize_t>(room);
    buffer_.resize(had + static_cast<std::size_t>(got > 0 ? got : 0));
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got > 0) continue;
    ended_ = true;
    if (!buffer_.empty() && !skipping_) buffer_.push_back('\n');
  }
}

}  // namespace cloche::lines
