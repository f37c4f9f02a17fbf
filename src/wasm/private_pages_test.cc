// SPDX-License-Identifier: Apache-2.0
#include "wasm/private_pages.h"

#include <gtest/gtest.h>

namespace cloche::wasm {
namespace {

using Pairs = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

Pairs pairs_of(const std::vector<PageRun>& runs) {
  Pairs pairs;
  for (const PageRun& run : runs) pairs.emplace_back(run.start, run.end());
  return pairs;
}

Pairs common(const std::vector<PageRun>& a, const std::vector<PageRun>& b) {
  return pairs_of(common_pages(a, b));
}

Pairs without(const std::vector<PageRun>& a, const std::vector<PageRun>& b) {
  return pairs_of(pages_without(a, b));
}

TEST(CommonPages, AreThoseInBoth) {
  EXPECT_EQ(common({{0, 10}, {20, 10}}, {{5, 20}}), (Pairs{{5, 10}, {20, 25}}));
  EXPECT_EQ(common({{0, 10}}, {{10, 10}}), Pairs{});
  EXPECT_EQ(common({}, {{0, 10}}), Pairs{});
  EXPECT_EQ(common({{0, 30}}, {{0, 5}, {10, 5}, {25, 10}}), (Pairs{{0, 5}, {10, 15}, {25, 30}}));
}

TEST(PagesWithout, AreThoseOfTheFirstAlone) {
  EXPECT_EQ(without({{0, 10}, {20, 10}}, {{5, 20}}), (Pairs{{0, 5}, {25, 30}}));
  EXPECT_EQ(without({{0, 30}}, {{0, 5}, {10, 5}, {25, 10}}), (Pairs{{5, 10}, {15, 25}}));
  EXPECT_EQ(without({{0, 10}, {20, 10}}, {{0, 40}}), Pairs{});
  EXPECT_EQ(without({{0, 10}, {20, 10}}, {{10, 10}}), (Pairs{{0, 10}, {20, 30}}));
  EXPECT_EQ(without({{0, 10}}, {}), (Pairs{{0, 10}}));
}

}  // namespace
}  // namespace cloche::wasm
