// SPDX-License-Identifier: Apache-2.0
#include "doors/http/h2/flood_budget.h"

#include <gtest/gtest.h>

namespace cloche::http {
namespace {

using namespace std::chrono_literals;

TEST(FloodBudget, EndsAndGrowsWithTime) {
  const FloodBudget::Time start{};
  FloodBudget budget(start);
  for (int i = 0; i < FloodBudget::most; ++i) ASSERT_TRUE(budget.spend(1, start));
  EXPECT_FALSE(budget.spend(1, start));
  EXPECT_FALSE(budget.spend(1, start + 999ms));
  EXPECT_TRUE(budget.spend(FloodBudget::each_second, start + 1s));
  EXPECT_FALSE(budget.spend(1, start + 1999ms));
  EXPECT_TRUE(budget.spend(FloodBudget::most, start + 24h));
  EXPECT_FALSE(budget.spend(1, start + 24h));
}

TEST(FloodBudget, GrowsWithWhatMovesAndNeverAboveItsMost) {
  const FloodBudget::Time start{};
  FloodBudget budget(start);
  budget.moved();
  EXPECT_TRUE(budget.spend(FloodBudget::most, start));
  EXPECT_FALSE(budget.spend(1, start));
  budget.moved();
  EXPECT_TRUE(budget.spend(FloodBudget::each_moved_frame, start));
  EXPECT_FALSE(budget.spend(1, start));
}

}  // namespace
}  // namespace cloche::http
