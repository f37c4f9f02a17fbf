// SPDX-License-Identifier: Apache-2.0
// Sleeping and waking inside of a kernel.
//
// Everything here is guarded by the kernel lock. A sleeper registers one Waiter with any number of
// WaitQueues, and sleeps with the lock released. Wake-ups may be spurious: a caller always looks at
// its condition again.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/clock.h"
#include "kernel/time/kernel_lock.h"

namespace cloche::kernel {

using cloche::SteadyTime;
// The moment at which a call gives up; nullopt: never.
using Deadline = std::optional<SteadyTime>;

class WaitQueue;

class Waiter {
 public:
  // Deadlines are by `clock`.
  explicit Waiter(Clock& clock = host_clock()) : clock_(clock) {}
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;

  // Sleeps until wake(), a wake of one of `queues`, or the deadline. False when the deadline
  // passed without a wake.
  bool sleep(KernelMutex& mutex, std::span<WaitQueue* const> queues, Deadline deadline)
      REQUIRES(kernel_lock);

  // Wakes the sleeper, or lets its next sleep return at once.
  void wake() noexcept REQUIRES(kernel_lock);

 private:
  Clock& clock_;
  std::condition_variable condition_;
  bool woken_ GUARDED_BY(kernel_lock) = false;
};

// Who waits for one thing to change: a pipe to fill, a child to end. Neither copied nor moved:
// waiters point to it. It outlives its waiters, because they hold the object that contains it.
class WaitQueue {
 public:
  WaitQueue() = default;
  WaitQueue(const WaitQueue&) = delete;
  WaitQueue& operator=(const WaitQueue&) = delete;

  void wake_all() noexcept REQUIRES(kernel_lock);
  // How often it was woken, with or without sleepers.
  std::uint64_t wakes() const noexcept REQUIRES(kernel_lock) { return wakes_; }
  bool empty() const noexcept REQUIRES(kernel_lock) { return waiters_.empty(); }

 private:
  friend class Waiter;
  std::vector<Waiter*> waiters_ GUARDED_BY(kernel_lock);
  std::uint64_t wakes_ GUARDED_BY(kernel_lock) = 0;
};

}  // namespace cloche::kernel
