// SPDX-License-Identifier: Apache-2.0
#include "base/clock_testing.h"

namespace cloche {

// Who sleeps looks every millisecond whether time has moved: nothing needs to know who sleeps.
void ManualClock::sleep(std::condition_variable& changed, std::unique_lock<std::mutex>& lock,
                        SteadyTime until) {
  if (now().steady < until) changed.wait_for(lock, std::chrono::milliseconds(1));
}

void ManualClock::advance(std::chrono::milliseconds by) {
  const std::lock_guard lock(mutex_);
  now_.wall += by;
  now_.steady += by;
}

void ManualClock::set_by(std::chrono::milliseconds by) {
  const std::lock_guard lock(mutex_);
  now_.wall += by;
}

}  // namespace cloche
