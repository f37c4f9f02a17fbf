// SPDX-License-Identifier: Apache-2.0
#include "doors/rest/rate_limiter.h"

#include <gtest/gtest.h>

namespace cloche::rest {
namespace {

using std::chrono::seconds;
using Time = std::chrono::system_clock::time_point;

TEST(RateLimiter, CountsAMinuteOfEachOwner) {
  RateLimiter limiter(2);
  const Time now{seconds(1000)};
  EXPECT_EQ(limiter.count("a", now).remaining, 1U);
  EXPECT_TRUE(limiter.count("a", now).allowed);
  const RateLimiter::Verdict over = limiter.count("a", now + seconds(59));
  EXPECT_FALSE(over.allowed);
  EXPECT_EQ(over.limit, 2U);
  EXPECT_EQ(over.remaining, 0U);
  EXPECT_EQ(over.reset_s, 1060);
  EXPECT_TRUE(limiter.count("b", now).allowed);
  EXPECT_TRUE(limiter.count("a", now + seconds(60)).allowed);
}

TEST(RateLimiter, NoLimit) {
  RateLimiter limiter(0);
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(limiter.count("a", Time{}).allowed);
}

}  // namespace
}  // namespace cloche::rest
