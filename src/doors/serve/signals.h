// SPDX-License-Identifier: Apache-2.0
// The signals that a server waits for: SIGTERM and SIGINT, and SIGHUP where it means to read or to
// open files again. They are waited for, not caught.
#pragma once

#include <csignal>
#include <ctime>
#include <functional>

namespace cloche::serve {

// To be made before the first thread starts, for they are blocked in all of them.
class Signals {
 public:
  explicit Signals(bool with_reload) {
    ::pthread_sigmask(SIG_SETMASK, nullptr, &before_);
    sigemptyset(&set_);
    sigaddset(&set_, SIGTERM);
    sigaddset(&set_, SIGINT);
    if (with_reload) sigaddset(&set_, SIGHUP);
    ::pthread_sigmask(SIG_BLOCK, &set_, nullptr);
  }
  // Until it is asked to end; calls `look` each second, and `read_all` for each SIGHUP.
  void wait_for_end(const std::function<void()>& look,
                    const std::function<void()>& read_all) const {
    static constexpr timespec second{.tv_sec = 1, .tv_nsec = 0};
    for (int number = 0; number != SIGTERM && number != SIGINT;) {
      number = ::sigtimedwait(&set_, nullptr, &second);
      number == SIGHUP ? read_all() : look();
    }
  }
  // As it was before.
  const sigset_t& mask_before() const { return before_; }
  // From here on a second signal ends the program at once.
  void unblock() const { ::pthread_sigmask(SIG_UNBLOCK, &set_, nullptr); }

 private:
  sigset_t set_{};
  sigset_t before_{};
};

}  // namespace cloche::serve
