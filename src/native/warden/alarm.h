// SPDX-License-Identifier: Apache-2.0
// Alarm: while it is there, nothing in the kernel that a signal breaks off takes longer than so
// many milliseconds.
#pragma once

#include <sys/time.h>

#include <csignal>

namespace cloche::warden {

class Alarm {
 public:
  explicit Alarm(int most_wait_ms) noexcept {
    struct sigaction nothing{};
    nothing.sa_handler = [](int) {};
    (void)::sigaction(SIGALRM, &nothing, nullptr);
    set(most_wait_ms);
  }
  ~Alarm() { set(0); }
  Alarm(const Alarm&) = delete;
  Alarm& operator=(const Alarm&) = delete;

 private:
  // Again and again, in case the first one comes before the wait.
  static void set(int ms) noexcept {
    const timeval time{.tv_sec = 0, .tv_usec = ms * 1000};
    const itimerval timer{.it_interval = time, .it_value = time};
    (void)::setitimer(ITIMER_REAL, &timer, nullptr);
  }
};

}  // namespace cloche::warden
