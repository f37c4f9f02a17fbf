// SPDX-License-Identifier: Apache-2.0
#include "session/timers.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <thread>
#include <vector>

#include "base/refused_threads_testing.h"

namespace cloche::session {
namespace {

using Clock = std::chrono::steady_clock;

TEST(Timers, DoTheirWorkInTheOrderOfTheirTimes) {
  Timers timers;
  std::vector<int> done;
  std::promise<void> all;
  const Clock::time_point now = Clock::now();
  (void)timers.at(now + std::chrono::milliseconds(20), [&] {
    done.push_back(3);
    all.set_value();
  });
  (void)timers.at(now + std::chrono::milliseconds(10), [&] { done.push_back(2); });
  (void)timers.at(now - std::chrono::hours(1), [&] { done.push_back(1); });
  all.get_future().wait();
  EXPECT_EQ(done, (std::vector{1, 2, 3}));
}

TEST(Timers, NeedNoThreadForWorkOnceTheyAreThere) {
  Timers timers;
  const RefusedThreads none;
  std::promise<void> done;
  (void)timers.at(Clock::now(), [&] { done.set_value(); });
  done.get_future().wait();
}

TEST(Timers, WorkThatWasCancelledIsNotDone) {
  Timers timers;
  bool done = false;
  const Timers::Id id =
      timers.at(Clock::now() + std::chrono::milliseconds(10), [&] { done = true; });
  timers.cancel(id);
  std::promise<void> later;
  (void)timers.at(Clock::now() + std::chrono::milliseconds(20), [&] { later.set_value(); });
  later.get_future().wait();
  EXPECT_FALSE(done);
  timers.cancel(id);  // once more is nothing
}

TEST(Timers, CancellingWaitsForWorkThatIsInProgress) {
  Timers timers;
  std::promise<void> begun;
  std::promise<void> go_on;
  std::atomic<bool> done = false;
  const Timers::Id id = timers.at(Clock::now(), [&] {
    begun.set_value();
    go_on.get_future().wait();
    done = true;
  });
  begun.get_future().wait();
  std::thread helper([&] { go_on.set_value(); });
  timers.cancel(id);
  EXPECT_TRUE(done);
  helper.join();
}

TEST(Timers, WorkMayArmItselfAnew) {
  Timers timers;
  int count = 0;
  std::promise<void> thrice;
  std::function<void()> work = [&] {
    if (++count == 3) return thrice.set_value();
    (void)timers.at(Clock::now(), work);
  };
  (void)timers.at(Clock::now(), work);
  thrice.get_future().wait();
  EXPECT_EQ(count, 3);
}

}  // namespace
}  // namespace cloche::session
