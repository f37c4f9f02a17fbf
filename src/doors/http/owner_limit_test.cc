// SPDX-License-Identifier: Apache-2.0
#include "doors/http/owner_limit.h"

#include <gtest/gtest.h>

#include <deque>
#include <optional>

namespace cloche::http {
namespace {

TEST(OwnerLimit, OneOwnerLeavesPlacesOfItsPeerToOthers) {
  OwnerLimit limit(16);  // of which one peer may have 12
  std::deque<std::optional<OwnerLimit::Permit>> permits(9);
  for (auto& permit : permits) EXPECT_TRUE(limit.acquire("ann", permit));
  std::optional<OwnerLimit::Permit> more;
  EXPECT_FALSE(limit.acquire("ann", more));
  EXPECT_FALSE(more.has_value());
  EXPECT_TRUE(limit.acquire("bob", more));
  EXPECT_FALSE(limit.acquire("ann", more));  // bob's is given back
  permits.pop_front();
  EXPECT_TRUE(limit.acquire("ann", more));
  EXPECT_TRUE(limit.acquire("", more));
  EXPECT_FALSE(more.has_value());
}

}  // namespace
}  // namespace cloche::http
