// SPDX-License-Identifier: Apache-2.0
// ManualClock: time that a test moves. It stands still otherwise.
#pragma once

#include "base/clock.h"

namespace cloche {

class ManualClock final : public Clock {
 public:
  Moment now() override {
    const std::lock_guard lock(mutex_);
    return now_;
  }
  void sleep(std::condition_variable& changed, std::unique_lock<std::mutex>& lock,
             SteadyTime until) override;
  void advance(std::chrono::milliseconds by);
  // As when somebody sets the time of day: what passes goes on.
  void set_by(std::chrono::milliseconds by);

 private:
  std::mutex mutex_;
  Moment now_{WallTime(std::chrono::hours(500'000)), SteadyTime(std::chrono::hours(1))};
};

}  // namespace cloche
