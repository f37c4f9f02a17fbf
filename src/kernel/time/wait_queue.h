// SPDX-License-Identifier: Apache-2.0
// Sleeping and waking inside of a kernel.
//
// Everything here is guarded by the kernel lock (Kernel::mutex()). A sleeper registers one Waiter
// with any number of WaitQueues, and sleeps with the lock released. Wake-ups may be spurious: a
// caller always looks at its condition again.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "base/clock.h"

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

  // Sleeps until wake(), a wake of one of `queues`, or the deadline. Called with `kernel_mutex`
  // held by this thread, and returns with it held. False when the deadline passed without a wake.
  bool sleep(std::mutex& kernel_mutex, std::span<WaitQueue* const> queues, Deadline deadline);

  // Wakes the sleeper, or lets its next sleep return at once. Lock held.
  void wake() noexcept;

 private:
  Clock& clock_;
  std::condition_variable condition_;
  bool woken_ = false;
};

// Who waits for one thing to change: a pipe to fill, a child to end. Neither copied nor moved:
// waiters point to it. It outlives its waiters, because they hold the object that contains it.
class WaitQueue {
 public:
  WaitQueue() = default;
  WaitQueue(const WaitQueue&) = delete;
  WaitQueue& operator=(const WaitQueue&) = delete;

  void wake_all() noexcept;
  // How often it was woken, with or without sleepers.
  std::uint64_t wakes() const noexcept { return wakes_; }
  bool empty() const noexcept { return waiters_.empty(); }

 private:
  friend class Waiter;
  std::vector<Waiter*> waiters_;
  std::uint64_t wakes_ = 0;
};

}  // namespace cloche::kernel
