// SPDX-License-Identifier: Apache-2.0
#include "doors/mcp/request_states.h"

#include <gtest/gtest.h>

namespace cloche::mcp {
namespace {

TEST(RequestStates, AreTakenOnceForWhatTheyWereMade) {
  RequestStates states;
  const std::string state = states.make("question");
  EXPECT_FALSE(states.take("me", state, "another question"));
  EXPECT_TRUE(states.take("me", state, "question"));
  EXPECT_FALSE(states.take("me", state, "question"));
}

TEST(RequestStates, AreTooOldAfterAWhile) {
  RequestStates states;
  const auto now = std::chrono::steady_clock::now();
  const std::string state = states.make("q", now);
  EXPECT_FALSE(
      states.take("me", state, "q", now + RequestStates::lifetime + std::chrono::seconds(2)));
  EXPECT_TRUE(
      states.take("me", state, "q", now + RequestStates::lifetime - std::chrono::seconds(2)));
}

TEST(RequestStates, OfAnotherProcessOrChangedOnesAreNone) {
  RequestStates states, others;
  EXPECT_FALSE(states.take("me", others.make("q"), "q"));
  std::string state = states.make("q");
  for (char& c : state) {
    const char was = c;
    c = was == '0' ? '1' : '0';
    EXPECT_FALSE(states.take("me", state, "q"));
    c = was;
  }
  EXPECT_FALSE(states.take("me", "", "q"));
  EXPECT_TRUE(states.take("me", state, "q"));
}

TEST(RequestStates, OfOneOwnerAreSoManyAndLeaveOthersTheirs) {
  RequestStates states;
  for (std::size_t i = 0; i < RequestStates::owner_limit; ++i)
    ASSERT_TRUE(states.take("me", states.make("q"), "q"));
  EXPECT_FALSE(states.take("me", states.make("q"), "q"));
  EXPECT_TRUE(states.take("you", states.make("q"), "q"));
}

}  // namespace
}  // namespace cloche::mcp
