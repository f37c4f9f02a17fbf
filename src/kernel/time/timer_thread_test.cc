// SPDX-License-Identifier: Apache-2.0
#include "kernel/time/timer_thread.h"

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <vector>

#include "base/clock_testing.h"
#include "base/host_error.h"
#include "base/refused_threads_testing.h"

namespace cloche::kernel {
namespace {

using namespace std::chrono_literals;

// Waits for things that happen on another thread.
class Log {
 public:
  void add(int what) {
    const std::lock_guard lock(mutex_);
    entries_.push_back(what);
    changed_.notify_all();
  }
  std::vector<int> wait_for(std::size_t count) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, 10s, [&] { return entries_.size() >= count; }));
    return entries_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<int> entries_;
};

TimerThread::Time now() { return std::chrono::steady_clock::now(); }

TEST(TimerThread, CallsInTheOrderOfTheMoments) {
  Log log;
  TimerThread timers;
  const auto start = now();
  timers.add(start + 3ms, nullptr, [&] { log.add(3); });
  timers.add(start + 1ms, nullptr, [&] { log.add(1); });
  timers.add(start + 2ms, nullptr, [&] { log.add(2); });
  EXPECT_EQ(log.wait_for(3), (std::vector{1, 2, 3}));
  EXPECT_GE(now(), start + 3ms);
  EXPECT_EQ(timers.size(), 0U);
}

TEST(TimerThread, GoesByItsClock) {
  Log log;
  ManualClock clock;
  TimerThread timers(clock);
  timers.add(clock.steady() + 1h, nullptr, [&] { log.add(1); });
  timers.add(clock.steady() + 2h, nullptr, [&] { log.add(2); });
  clock.advance(1h);
  EXPECT_EQ(log.wait_for(1), std::vector{1});
  EXPECT_EQ(timers.size(), 1U);
  clock.advance(1h);
  EXPECT_EQ(log.wait_for(2), (std::vector{1, 2}));
}

TEST(TimerThread, AnEarlierTimerWakesTheThread) {
  Log log;
  TimerThread timers;
  timers.add(now() + 1h, nullptr, [&] { log.add(2); });
  timers.add(now(), nullptr, [&] { log.add(1); });
  EXPECT_EQ(log.wait_for(1), std::vector{1});
  EXPECT_EQ(timers.size(), 1U);
}

TEST(TimerThread, ACanceledTimerDoesNotRun) {
  Log log;
  TimerThread timers;
  const TimerThread::Id far = timers.add(now() + 1h, nullptr, [&] { log.add(1); });
  EXPECT_TRUE(timers.cancel(far));
  EXPECT_FALSE(timers.cancel(far));
  timers.add(now(), nullptr, [&] { log.add(2); });
  EXPECT_EQ(log.wait_for(1), std::vector{2});
}

TEST(TimerThread, CancelDoesNotWaitForARunningCallback) {
  Log log;
  std::mutex kernel;
  TimerThread timers;
  std::unique_lock held(kernel);
  const TimerThread::Id id = timers.add(now(), nullptr, [&] {
    log.add(1);
    const std::lock_guard lock(kernel);
    log.add(2);
  });
  log.wait_for(1);
  // The callback waits for the lock that this thread holds.
  EXPECT_FALSE(timers.cancel(id));
  held.unlock();
  EXPECT_EQ(log.wait_for(2), (std::vector{1, 2}));
}

TEST(TimerThread, DrainWaitsForTheOwnersCallback) {
  TimerThread timers;
  Log log;
  std::mutex gate;
  gate.lock();
  std::atomic<bool> ended = false;
  const int owner = 0;
  const int other = 0;
  timers.add(now(), &owner, [&] {
    log.add(1);
    {
      const std::lock_guard lock(gate);
    }
    // What a callback adds is the owner's as well.
    timers.add(now(), &owner, [&] { log.add(99); });
    ended = true;
  });
  timers.add(now() + 1h, &owner, [&] { log.add(98); });
  timers.add(now() + 1h, &other, [&] { log.add(97); });
  log.wait_for(1);
  std::thread drainer([&] {
    timers.drain(&owner);
    EXPECT_TRUE(ended);
  });
  gate.unlock();
  drainer.join();
  EXPECT_EQ(timers.size(), 1U);
}

TEST(TimerThread, ACallbackMayAddAndCancel) {
  Log log;
  TimerThread timers;
  const TimerThread::Id far = timers.add(now() + 1h, nullptr, [] {});
  timers.add(now(), nullptr, [&] {
    EXPECT_TRUE(timers.cancel(far));
    timers.add(now(), nullptr, [&] { log.add(1); });
  });
  EXPECT_EQ(log.wait_for(1), std::vector{1});
}

TEST(TimerThread, EndsWithTimersStillSet) {
  auto held = std::make_shared<int>(1);
  {
    TimerThread timers;
    timers.add(now() + 1h, nullptr, [held] {});
    EXPECT_EQ(held.use_count(), 2);
  }
  EXPECT_EQ(held.use_count(), 1);
}

#if !defined(CLOCHE_SANITIZED)

TEST(TimerThread, AHostWithoutThreadsIsAnErrorAndNoTimer) {
  TimerThread timers;
  Log log;
  {
    const RefusedThreads refused;
    EXPECT_THROW((void)timers.add(now(), nullptr, [&] { log.add(1); }), HostError);
  }
  EXPECT_EQ(timers.size(), 0U);
  (void)timers.add(now(), nullptr, [&] { log.add(2); });
  EXPECT_EQ(log.wait_for(1), std::vector{2});
}

#endif

}  // namespace
}  // namespace cloche::kernel
