// SPDX-License-Identifier: Apache-2.0
#include "kernel/time/run_clock.h"

#include <gtest/gtest.h>

namespace cloche::kernel {
namespace {

using namespace std::chrono_literals;

class RunClockTest : public testing::Test {
 protected:
  using End = SystemWaits::End;

  KernelMutex mutex_;
  const SteadyTime begin = std::chrono::steady_clock::now();
  RunClock clock_{10s, begin};
};

TEST_F(RunClockTest, IsOverAtItsLimit) {
  const KernelLock lock(mutex_);
  EXPECT_EQ(clock_.next_look(begin), begin + 10s);
  EXPECT_FALSE(clock_.is_over(begin + 9s));
  EXPECT_TRUE(clock_.is_over(begin + 10s));
}

TEST_F(RunClockTest, WithoutALimitIsNeverOver) {
  RunClock endless(0ms, begin);
  const KernelLock lock(mutex_);
  EXPECT_FALSE(endless.is_limited());
  EXPECT_FALSE(endless.is_over(begin + 10h));
  EXPECT_EQ(endless.next_look(begin), std::nullopt);
}

TEST_F(RunClockTest, StandsStillWhileTheSystemIsWaitedFor) {
  const KernelLock lock(mutex_);
  clock_.waits().begin(begin + 9s);
  EXPECT_FALSE(clock_.is_over(begin + 60s));
  EXPECT_GT(clock_.next_look(begin + 60s), begin + 60s);
  clock_.waits().end(begin + 60s, End::done);
  EXPECT_FALSE(clock_.is_over(begin + 60s));
  EXPECT_EQ(clock_.next_look(begin + 60s), begin + 61s);
  EXPECT_TRUE(clock_.is_over(begin + 61s));
}

TEST_F(RunClockTest, WaitsThatOverlapCountOnce) {
  const KernelLock lock(mutex_);
  SystemWaits& waits = clock_.waits();
  waits.begin(begin);
  waits.begin(begin + 1s);
  waits.end(begin + 3s, End::done);
  waits.end(begin + 4s, End::done);
  EXPECT_EQ(waits.total(begin + 5s), 4s);
  waits.begin(begin + 5s);
  EXPECT_EQ(waits.total(begin + 6s), 5s);
  waits.end(begin + 7s, End::done);
  EXPECT_EQ(waits.total(begin + 8s), 6s);
}

TEST_F(RunClockTest, WhatFailsIsTheRunsTime) {
  const KernelLock lock(mutex_);
  clock_.waits().begin(begin);
  EXPECT_FALSE(clock_.is_over(begin + 20s));
  clock_.waits().end(begin + 20s, End::failed);
  EXPECT_TRUE(clock_.is_over(begin + 20s));
}

TEST_F(RunClockTest, AWaitWithoutEndEndsTheRun) {
  const KernelLock lock(mutex_);
  clock_.waits().begin(begin + 1s);
  EXPECT_FALSE(clock_.is_over(begin + 10s));
  EXPECT_TRUE(clock_.is_over(begin + 10s + SystemWaits::longest));
}

}  // namespace
}  // namespace cloche::kernel
