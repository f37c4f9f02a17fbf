// SPDX-License-Identifier: Apache-2.0
// background_thread: a thread of the library beside those of the program that uses it. Signals to
// the process are for that program's threads: this one has all of them blocked.
#pragma once

#include <pthread.h>
#include <signal.h>

#include <thread>
#include <utility>

namespace cloche {

// Throws std::system_error when the host gives no thread.
template <typename Body>
std::thread background_thread(Body&& body) {
  struct Blocked {
    sigset_t before{};
    Blocked() {
      sigset_t all;
      sigfillset(&all);
      pthread_sigmask(SIG_SETMASK, &all, &before);
    }
    ~Blocked() { pthread_sigmask(SIG_SETMASK, &before, nullptr); }
    Blocked(const Blocked&) = delete;
    Blocked& operator=(const Blocked&) = delete;
  };
  const Blocked blocked;
  return std::thread(std::forward<Body>(body));
}

}  // namespace cloche
