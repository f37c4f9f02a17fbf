// SPDX-License-Identifier: Apache-2.0
#include "wasm/hot_pages.h"

#include <gtest/gtest.h>

namespace cloche::wasm {
namespace {

std::vector<std::pair<std::uint64_t, std::uint64_t>> common(const std::vector<PageRun>& a,
                                                            const std::vector<PageRun>& b) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> pairs;
  for (const PageRun& run : common_pages(a, b)) pairs.emplace_back(run.start, run.end());
  return pairs;
}

using Pairs = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

TEST(CommonPages, AreThoseInBoth) {
  EXPECT_EQ(common({{0, 10}, {20, 10}}, {{5, 20}}), (Pairs{{5, 10}, {20, 25}}));
  EXPECT_EQ(common({{0, 10}}, {{10, 10}}), Pairs{});
  EXPECT_EQ(common({}, {{0, 10}}), Pairs{});
  EXPECT_EQ(common({{0, 30}}, {{0, 5}, {10, 5}, {25, 10}}), (Pairs{{0, 5}, {10, 15}, {25, 30}}));
}

}  // namespace
}  // namespace cloche::wasm
