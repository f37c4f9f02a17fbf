// SPDX-License-Identifier: Apache-2.0
#include "cluster/picker.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <numeric>
#include <random>

namespace cloche::cluster {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::size_t first(std::size_t) { return 0; }

TEST(Picker, TakesTheBestOfThreeThatHaveRoom) {
  EXPECT_THAT(pick_three({}, first), IsEmpty());
  EXPECT_THAT(pick_three(std::vector{0.0, 0.0}, first), IsEmpty());
  EXPECT_THAT(pick_three(std::vector{0.0, 0.5}, first), ElementsAre(1));
  EXPECT_THAT(pick_three(std::vector{0.2, 0.9, 0.0, 0.5, 1.0}, first), ElementsAre(1, 3, 0));
  for (int i = 0; i < 100; ++i)
    EXPECT_THAT(pick_three(std::vector{0.1, 0.2, 0.3}, draw_random), ElementsAre(2, 1, 0));
}

// Sessions that live as long as others do and need memory of very different sizes, on 100 cells
// whose room is known as it was a while ago.
TEST(Picker, AMillionSessionsFillAllCellsAlike) {
  constexpr std::size_t cells = 100;
  constexpr std::size_t sessions = 1'000'000;
  constexpr std::size_t made_between_reports = 1000;  // half a second of 2000 a second
  constexpr double cell_size = 1.4 * sessions / cells;
  std::mt19937_64 engine(20'260'102);
  std::lognormal_distribution<double> size(-0.5, 1);  // of mean 1
  const Draw draw = [&](std::size_t below) {
    return std::uniform_int_distribution<std::size_t>(0, below - 1)(engine);
  };
  std::vector<double> used(cells, 0);
  std::vector<double> reported(cells, 1);
  double worst = 0;
  for (std::size_t made = 0; made < sessions; ++made) {
    if (made % made_between_reports == 0) {
      for (std::size_t i = 0; i < cells; ++i) reported[i] = 1 - used[i] / cell_size;
    }
    const auto picked = pick_three(reported, draw);
    ASSERT_FALSE(picked.empty());
    used[picked[0]] += size(engine);
    // From a tenth on: before that a cell has a few sessions, and one more is much.
    if (made % 10'000 == 9'999 && made >= sessions / 10) {
      const double mean = std::accumulate(used.begin(), used.end(), 0.0) / cells;
      worst = std::max(worst, *std::ranges::max_element(used) / mean);
    }
  }
  EXPECT_LE(worst, 1.05);
}

}  // namespace
}  // namespace cloche::cluster
