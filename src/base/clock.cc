// SPDX-License-Identifier: Apache-2.0
#include "base/clock.h"

namespace cloche {
namespace {

class HostClock final : public Clock {
 public:
  Moment now() override {
    return {std::chrono::system_clock::now(), std::chrono::steady_clock::now()};
  }
  WallTime wall() override { return std::chrono::system_clock::now(); }
  SteadyTime steady() override { return std::chrono::steady_clock::now(); }
  void sleep(std::condition_variable& changed, std::unique_lock<std::mutex>& lock,
             SteadyTime until) override {
    if (until == SteadyTime::max()) {
      changed.wait(lock);
    } else {
      changed.wait_until(lock, until);
    }
  }
};

}  // namespace

Clock& host_clock() {
  static Clock& clock = *new HostClock;
  return clock;
}

}  // namespace cloche
