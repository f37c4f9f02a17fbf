// SPDX-License-Identifier: Apache-2.0
// Clock: the time that sessions and kernels live by: when sessions are due, what guests are told,
// how long they sleep, when their timers expire. One seam, so that a test moves time by itself.
// Thread-safe. It outlives who uses it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace cloche {

using WallTime = std::chrono::system_clock::time_point;
using SteadyTime = std::chrono::steady_clock::time_point;

// One moment, by both clocks: what is told and saved, and what durations are counted by.
struct Moment {
  WallTime wall;
  SteadyTime steady;
};

class Clock {
 public:
  Clock() = default;
  Clock(const Clock&) = delete;
  Clock& operator=(const Clock&) = delete;
  virtual ~Clock() = default;

  virtual Moment now() = 0;
  // One of them, for who needs no more.
  virtual WallTime wall() { return now().wall; }
  virtual SteadyTime steady() { return now().steady; }
  // Until somebody notifies `changed`, or it is `until` (SteadyTime::max(): never); may return
  // earlier, so the caller looks again.
  virtual void sleep(std::condition_variable& changed, std::unique_lock<std::mutex>& lock,
                     SteadyTime until) = 0;
};

// The host's own. Never destroyed.
Clock& host_clock();

}  // namespace cloche
