// SPDX-License-Identifier: Apache-2.0
#include "base/mutex.h"

#include <gtest/gtest.h>

#include <chrono>
#include <latch>
#include <thread>

namespace cloche {
namespace {

constexpr std::chrono::hours for_ever{1};

TEST(Mutex, AConditionWaitsWithItGivenUp) {
  Mutex mutex;
  Condition changed;
  bool asked = false, answered = false;
  std::thread other([&] {
    const MutexLock lock(mutex);
    changed.wait(mutex, [&] { return asked; });
    answered = true;
    changed.notify_all();
  });
  {
    const MutexLock lock(mutex);
    asked = true;
    changed.notify_all();
    EXPECT_TRUE(changed.wait_for(mutex, for_ever, [&] { return answered; }));
  }
  other.join();
}

TEST(Mutex, AWaitEndsAtItsDeadline) {
  Mutex mutex;
  Condition changed;
  const MutexLock lock(mutex);
  EXPECT_FALSE(changed.wait_until(mutex, SteadyTime::min(), [] { return false; }));
  EXPECT_EQ(changed.wait_until(mutex, SteadyTime::min()), std::cv_status::timeout);
}

TEST(Mutex, WhoGivesItUpHasItAgain) {
  Mutex mutex;
  int count = 0;
  std::latch taken(1);
  const MutexLock lock(mutex);
  std::thread other([&] {
    const MutexLock its_lock(mutex);
    ++count;
    taken.count_down();
  });
  {
    const MutexUnlocked unlocked(mutex);
    taken.wait();
  }
  EXPECT_EQ(count, 1);
  other.join();
}

TEST(Mutex, TwoAreTakenInEitherOrderAtOnce) {
  Mutex one, other;
  int count = 0;
  const auto take = [&](Mutex& first, Mutex& second) {
    for (int i = 0; i < 1'000; ++i) {
      const MutexPairLock lock(first, second);
      ++count;
    }
  };
  std::thread against([&] { take(other, one); });
  take(one, other);
  against.join();
  EXPECT_EQ(count, 2'000);
}

TEST(Mutex, ReadersHoldASharedOneTogether) {
  SharedMutex mutex;
  std::latch both(2);
  const auto read = [&] {
    const ReadLock lock(mutex);
    both.arrive_and_wait();
  };
  std::thread other(read);
  read();
  other.join();
  const WriteLock lock(mutex);
}

TEST(Mutex, AWaitEndsWhenItIsAskedToStop) {
  Mutex mutex;
  StoppableCondition changed;
  std::stop_source source;
  std::thread other([&] { source.request_stop(); });
  {
    const MutexLock lock(mutex);
    EXPECT_FALSE(changed.wait_for(mutex, source.get_token(), for_ever, [] { return false; }));
  }
  other.join();
}

}  // namespace
}  // namespace cloche
