// SPDX-License-Identifier: Apache-2.0
#include "doors/http/received_bytes.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace cloche::http {
namespace {

constexpr std::uint64_t mib = 1 << 20;

class ReceivedBytesTest : public testing::Test {
 protected:
  std::unique_ptr<ReceivedBody> body_of(const std::string& owner) {
    return std::make_unique<ReceivedBody>(all_, owner);
  }
  std::shared_ptr<ReceivedBytes> all_ = std::make_shared<ReceivedBytes>(10 * mib, 5 * mib);
};

TEST_F(ReceivedBytesTest, SmallBodiesAreNotCounted) {
  const auto body = body_of("a");
  EXPECT_TRUE(body->grow_to(ReceivedBody::uncounted_bytes));
  EXPECT_EQ(all_->bytes(), 0U);
}

TEST_F(ReceivedBytesTest, AnOwnerHasNoMoreThanItsPart) {
  const auto first = body_of("a");
  EXPECT_TRUE(first->grow_to(3 * mib));
  EXPECT_FALSE(first->grow_to(5 * mib + 1));
  EXPECT_EQ(all_->bytes(), 3 * mib) << "what was refused is not taken";
  const auto second = body_of("a");
  EXPECT_FALSE(second->grow_to(3 * mib));
  EXPECT_TRUE(second->grow_to(2 * mib));
  EXPECT_TRUE(body_of("b")->grow_to(5 * mib)) << "another owner has its own";
}

TEST_F(ReceivedBytesTest, AllTogetherHaveNoMoreThanTheWhole) {
  const auto a = body_of("a");
  const auto b = body_of("b");
  const auto c = body_of("c");
  EXPECT_TRUE(a->grow_to(5 * mib));
  EXPECT_TRUE(b->grow_to(4 * mib));
  EXPECT_FALSE(c->grow_to(2 * mib));
  EXPECT_TRUE(c->grow_to(1 * mib));
}

TEST_F(ReceivedBytesTest, WhatBecomesSmallerGivesRoomBackWhereThatIsWanted) {
  const auto body = body_of("a");
  EXPECT_TRUE(body->fit_to(4 * mib + 1));
  EXPECT_EQ(all_->bytes(), 5 * mib);
  EXPECT_TRUE(body->fit_to(2 * mib));
  EXPECT_EQ(all_->bytes(), 2 * mib);
  EXPECT_FALSE(body->fit_to(UINT64_MAX));
  EXPECT_FALSE(body->fit_to(6 * mib));
  EXPECT_EQ(all_->bytes(), 2 * mib);
  EXPECT_TRUE(body->fit_to(ReceivedBody::uncounted_bytes));
  EXPECT_EQ(all_->bytes(), 0U);
}

TEST_F(ReceivedBytesTest, WhatWasHandledComesBack) {
  {
    const auto body = body_of("a");
    EXPECT_TRUE(body->grow_to(5 * mib));
    body->clear();
    EXPECT_EQ(all_->bytes(), 0U);
    EXPECT_TRUE(body->grow_to(4 * mib));
  }
  EXPECT_EQ(all_->bytes(), 0U);
  EXPECT_FALSE(body_of("a")->grow_to(UINT64_MAX));
  EXPECT_EQ(all_->bytes(), 0U);
}

TEST_F(ReceivedBytesTest, ManyThreadsTakeNoMoreThanThereIs) {
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int number = 0; number < 4; ++number) {
    threads.emplace_back([this, number] {
      for (int round = 0; round < 2000; ++round) {
        ReceivedBody body(all_, std::to_string(number % 2));
        (void)body.grow_to((1 + round % 6) * mib);
        EXPECT_LE(all_->bytes(), 10 * mib);
      }
    });
  }
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(all_->bytes(), 0U);
}

}  // namespace
}  // namespace cloche::http
