// SPDX-License-Identifier: Apache-2.0
#include "doors/http/h2/stream_places.h"

#include <gtest/gtest.h>

#include <deque>

namespace cloche::http {
namespace {

TEST(StreamPlaces, OnePeerLeavesAQuarterToOthers) {
  StreamPlaces places(8);
  std::deque<StreamPlaces::Place> taken;
  for (int i = 0; i < 6; ++i) taken.push_back(*places.take("a"));
  EXPECT_FALSE(places.take("a"));
  taken.push_back(*places.take("b"));
  taken.push_back(*places.take("b"));
  EXPECT_FALSE(places.take("c"));
  EXPECT_EQ(places.taken(), 8U);
  taken.pop_front();
  EXPECT_TRUE(places.take("a"));  // and given back at once
  EXPECT_TRUE(places.take("c"));
  taken.clear();
  EXPECT_EQ(places.taken(), 0U);
}

}  // namespace
}  // namespace cloche::http
