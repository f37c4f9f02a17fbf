// SPDX-License-Identifier: Apache-2.0
#include "native/pull/pace.h"

#include <gtest/gtest.h>

namespace cloche::pull {
namespace {

using std::chrono::seconds;

constexpr SteadyTime start{};

TEST(Pace, OneByteNowAndThenIsTooSlow) {
  Pace pace(start);
  for (int second = 1; second < 60; ++second) {
    pace.add(1);
    EXPECT_FALSE(pace.is_too_slow(start + seconds(second))) << second;
  }
  EXPECT_TRUE(pace.is_too_slow(start + seconds(60)));
}

TEST(Pace, EachMinuteIsJudgedForItself) {
  Pace pace(start);
  pace.add(1 << 30);
  EXPECT_FALSE(pace.is_too_slow(start + seconds(60)));
  EXPECT_FALSE(pace.is_too_slow(start + seconds(119)));
  EXPECT_TRUE(pace.is_too_slow(start + seconds(120)));
}

TEST(Pace, ASlowLineIsFastEnough) {
  Pace pace(start);
  for (int second = 1; second < 3600; ++second) {
    pace.add(2048);
    ASSERT_FALSE(pace.is_too_slow(start + seconds(second))) << second;
  }
}

TEST(Progress, TriesThatBringNextToNothingAreNone) {
  Progress progress(start);
  EXPECT_TRUE(progress.has_come_further(100'000, start + seconds(1)));
  EXPECT_FALSE(progress.has_come_further(100'000, start + seconds(1)));
  EXPECT_FALSE(progress.has_come_further(100'060, start + seconds(61))) << "sixty bytes a minute";
  EXPECT_FALSE(progress.has_come_further(100'120, start + seconds(121)));
  EXPECT_FALSE(progress.has_come_further(50'000, start + seconds(122))) << "it began anew";
  EXPECT_TRUE(progress.has_come_further(300'000, start + seconds(123)));
}

}  // namespace
}  // namespace cloche::pull
