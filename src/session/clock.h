// SPDX-License-Identifier: Apache-2.0
// Clock: the time that sessions live by: when they are due, and when what could not be saved is
// tried again. One seam, so that a test moves time by itself. Thread-safe.
#pragma once

#include <condition_variable>
#include <mutex>

#include "session/session_facts.h"

namespace cloche::session {

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
  // Until somebody notifies `changed`, or it is `until` (SteadyTime::max(): never); may return
  // earlier, so the caller looks again.
  virtual void sleep(std::condition_variable& changed, std::unique_lock<std::mutex>& lock,
                     SteadyTime until) = 0;
};

// The host's own. Never destroyed.
Clock& host_clock();

}  // namespace cloche::session
