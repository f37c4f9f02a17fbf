// SPDX-License-Identifier: Apache-2.0
#include "base/share_limit.h"

#include <gtest/gtest.h>

#include <deque>

namespace cloche {
namespace {

TEST(ShareLimit, OnePeerLeavesAQuarterToOthers) {
  ShareLimit limit(8);
  std::deque<ShareLimit::Permit> permits;
  for (int i = 0; i < 6; ++i) permits.push_back(*limit.acquire("a"));
  EXPECT_FALSE(limit.acquire("a"));
  permits.push_back(*limit.acquire("b"));
  permits.push_back(*limit.acquire("b"));
  EXPECT_FALSE(limit.acquire("c"));
  EXPECT_EQ(limit.held(), 8U);
  permits.pop_front();
  EXPECT_TRUE(limit.acquire("a"));  // and released at once
  EXPECT_TRUE(limit.acquire("c"));
  permits.clear();
  EXPECT_EQ(limit.held(), 0U);
}

TEST(ShareLimit, NobodysHaveNoShareButThePlacesOfAll) {
  ShareLimit limit(8);
  std::deque<ShareLimit::Permit> permits;
  for (int i = 0; i < 8; ++i) permits.push_back(*limit.acquire());
  EXPECT_FALSE(limit.acquire());
  EXPECT_FALSE(limit.acquire("a"));
  permits.pop_front();
  EXPECT_TRUE(limit.acquire("a"));
  permits.clear();
  EXPECT_EQ(limit.held(), 0U);
}

}  // namespace
}  // namespace cloche
