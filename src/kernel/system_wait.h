// SPDX-License-Identifier: Apache-2.0
// wait_for_system: waiting for what the system does once per machine, a program of its own that is
// compiled or the boot image of Python, in nobody's time. In a process that finds it done it is the
// moment of the first use. Guests cannot have it twice: what is there is not waited for, what has
// begun goes on when nobody waits any more, and a program that they bring is none of the system's.
#pragma once

#include <chrono>
#include <memory>
#include <utility>

#include "base/error.h"
#include "base/result.h"
#include "kernel/kernel.h"
#include "kernel/time/kernel_lock.h"
#include "kernel/time/run_clock.h"

namespace cloche::kernel {

inline Errno errno_of(Errno code) noexcept { return code; }
inline Errno errno_of(const Error& error) noexcept { return error.code(); }

// `body` is called without the kernel lock; its Result says whether it is there now, or EINTR that
// the wait was given up. `clock` is the run's; may be null.
template <typename Body>
auto wait_for_system(Kernel& kernel, std::shared_ptr<RunClock> clock, Body&& body)
    REQUIRES(kernel_lock) {
  class Wait {
   public:
    Wait(SystemWaits& all, std::shared_ptr<RunClock> run) REQUIRES(kernel_lock)
        : all_(all), run_(std::move(run)) {
      const SteadyTime now = std::chrono::steady_clock::now();
      all_.begin(now);
      if (run_) run_->waits().begin(now);
    }
    ~Wait() REQUIRES(kernel_lock) {
      const SteadyTime now = std::chrono::steady_clock::now();
      all_.end(now, end);
      if (run_) run_->waits().end(now, end);
    }
    Wait(const Wait&) = delete;
    Wait& operator=(const Wait&) = delete;

    SystemWaits::End end = SystemWaits::End::failed;

   private:
    SystemWaits& all_;
    const std::shared_ptr<RunClock> run_;
  };
  Wait wait(kernel.system_waits(), std::move(clock));
  auto got = [&]() REQUIRES(kernel_lock) {
    const KernelUnlocked unlocked(kernel.mutex());
    return body();
  }();
  if (got || errno_of(got.error()) == Errno::intr) wait.end = SystemWaits::End::done;
  return got;
}

}  // namespace cloche::kernel
