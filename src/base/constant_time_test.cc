// SPDX-License-Identifier: Apache-2.0
#include "base/constant_time.h"

#include <gtest/gtest.h>

namespace cloche {
namespace {

TEST(ConstantTime, ComparesAsOthersDo) {
  EXPECT_TRUE(is_same_secret("", ""));
  EXPECT_TRUE(is_same_secret("token", "token"));
  EXPECT_FALSE(is_same_secret("token", "tokem"));
  EXPECT_FALSE(is_same_secret("token", "token "));
  EXPECT_FALSE(is_same_secret("token", ""));
  EXPECT_TRUE(is_same_digest("ab", "ab"));
  EXPECT_FALSE(is_same_digest("ab", "ac"));
  EXPECT_FALSE(is_same_digest("ab", "abc"));
}

}  // namespace
}  // namespace cloche
