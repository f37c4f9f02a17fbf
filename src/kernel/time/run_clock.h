// SPDX-License-Identifier: Apache-2.0
// RunClock: the time that a run has. What the system does once per machine is nobody's time: while
// a process of the run waits for a program of the system's to be compiled, the clock stands still
// (system_wait.h says when).
//
//   const auto clock = std::make_shared<RunClock>(limit);   // the run's processes have it too
//   while (!ended && !clock->is_over()) waiter.sleep(mutex, queues, clock->next_look());
#pragma once

#include <chrono>
#include <cstdint>

#include "kernel/time/kernel_lock.h"
#include "kernel/time/wait_queue.h"

namespace cloche::kernel {

// How long something has waited for the system: the time in which at least one of its processes
// did. It is none where all that was waited for then has failed: what fails may be tried again and
// again, in the time of who tries.
class SystemWaits {
 public:
  // The longest that a single such time can be, whatever happens.
  static constexpr std::chrono::minutes longest{30};
  enum class End : std::uint8_t { done, failed };

  void begin(SteadyTime now) REQUIRES(kernel_lock);
  void end(SteadyTime now, End how) REQUIRES(kernel_lock);
  bool under_way() const REQUIRES(kernel_lock) { return waiting_ > 0; }
  // With what is under way.
  std::chrono::nanoseconds total(SteadyTime now) const REQUIRES(kernel_lock);

 private:
  std::chrono::nanoseconds current(SteadyTime now) const REQUIRES(kernel_lock);

  std::uint32_t waiting_ GUARDED_BY(kernel_lock) = 0;
  SteadyTime since_ GUARDED_BY(kernel_lock);       // while somebody waits
  bool any_done_ GUARDED_BY(kernel_lock) = false;  // of those that waited since then
  std::chrono::nanoseconds past_ GUARDED_BY(kernel_lock){0};
};

class RunClock {
 public:
  // No limit: 0 and less.
  explicit RunClock(std::chrono::milliseconds limit,
                    SteadyTime begin = std::chrono::steady_clock::now());
  RunClock(const RunClock&) = delete;
  RunClock& operator=(const RunClock&) = delete;

  bool is_limited() const noexcept { return end_.has_value(); }
  bool is_over(SteadyTime now = std::chrono::steady_clock::now()) const REQUIRES(kernel_lock);
  // When to ask again. At that moment it is over, unless the clock stood still meanwhile.
  Deadline next_look(SteadyTime now = std::chrono::steady_clock::now()) const REQUIRES(kernel_lock);
  SystemWaits& waits() noexcept REQUIRES(kernel_lock) { return waits_; }

 private:
  const Deadline end_;  // had it never stood still
  SystemWaits waits_ GUARDED_BY(kernel_lock);
};

}  // namespace cloche::kernel
