// SPDX-License-Identifier: Apache-2.0
#include "base/timed_mutex.h"

#include <gtest/gtest.h>

#include <latch>
#include <mutex>
#include <thread>

namespace cloche {
namespace {

constexpr std::chrono::milliseconds a_moment{1};

TEST(TimedMutex, IsHadByOneAtATime) {
  TimedMutex mutex;
  std::unique_lock mine(mutex);
  std::thread([&] {
    EXPECT_FALSE(mutex.try_lock());
    EXPECT_FALSE(mutex.try_lock_for(a_moment));
  }).join();
  mine.unlock();
  std::thread([&] {
    const std::unique_lock theirs(mutex, a_moment);
    EXPECT_TRUE(theirs.owns_lock());
  }).join();
  EXPECT_TRUE(mine.try_lock());
}

TEST(TimedMutex, WhoWaitsHasItOnceItIsFree) {
  TimedMutex mutex;
  std::unique_lock mine(mutex);
  std::latch begun(2);
  int had = 0;  // by who has the mutex
  std::thread patient([&] {
    begun.count_down();
    const std::unique_lock theirs(mutex, std::chrono::hours(1));
    EXPECT_TRUE(theirs.owns_lock());
    ++had;
  });
  std::thread endless([&] {
    begun.count_down();
    const std::unique_lock theirs(mutex);
    ++had;
  });
  begun.wait();
  mine.unlock();
  patient.join();
  endless.join();
  EXPECT_EQ(had, 2);
}

}  // namespace
}  // namespace cloche
