// SPDX-License-Identifier: Apache-2.0
#include "wasm/mapping_share.h"

#include <gtest/gtest.h>

#include <deque>

namespace cloche::wasm {
namespace {

// A machine with 16,000 mappings, of which each instance takes ten.
class MappingShareTest : public ::testing::Test {
 protected:
  static constexpr std::size_t mappings_max = 16'000, each = 10;
  static constexpr std::size_t guests_max = 12'000, owner_max = 9'000;

  bool begin(const std::shared_ptr<Owner>& owner) {
    std::optional<MappingShare::Permit> permit = share_.acquire(owner);
    if (permit) permits_.push_back(*std::move(permit));
    return permit.has_value();
  }
  std::size_t begin_all(const std::shared_ptr<Owner>& owner) {
    std::size_t count = 0;
    while (begin(owner)) ++count;
    return count;
  }

  std::deque<MappingShare::Permit> permits_;
  std::size_t looks_ = 0;
  bool is_told_ = true;
  MappingShare::Clock::time_point now_{};
  MappingShare share_{mappings_max,
                      [this]() -> std::optional<std::size_t> {
                        ++looks_;
                        if (!is_told_) return std::nullopt;
                        return permits_.size() * each;
                      },
                      [this] { return now_; }};
};

TEST_F(MappingShareTest, FewAreNotCounted) {
  for (std::size_t i = 0; i < guests_max / 2 / MappingShare::instance_max; ++i)
    EXPECT_TRUE(begin(nullptr));
  EXPECT_EQ(looks_, 0U);
}

TEST_F(MappingShareTest, AllTogetherLeaveAQuarter) {
  const std::size_t begun = begin_all(nullptr);
  EXPECT_GT(begun * each, guests_max - 2 * each);
  EXPECT_LE(begun * each, guests_max + each);
  EXPECT_LT(looks_, begun / 4);
}

TEST_F(MappingShareTest, OneOwnerLeavesRoomToOthers) {
  const auto ann = std::make_shared<Owner>(), bob = std::make_shared<Owner>();
  const std::size_t of_ann = begin_all(ann);
  EXPECT_LE(of_ann * each, owner_max + each);
  EXPECT_FALSE(begin(ann));
  const std::size_t of_bob = begin_all(bob);
  EXPECT_GT(of_bob * each, guests_max - owner_max - 3 * each);
  EXPECT_FALSE(begin(nullptr));
}

TEST(OwnerTest, IsOneOfItsName) {
  const auto ann = Owner::named("ann");
  EXPECT_EQ(Owner::named("ann"), ann);
  EXPECT_NE(Owner::named("bob"), ann);
}

TEST_F(MappingShareTest, WhatEndsIsThereAgain) {
  const std::size_t begun = begin_all(nullptr);
  permits_.clear();
  now_ += std::chrono::seconds(1);  // what was too much is not asked for at once
  EXPECT_EQ(begin_all(nullptr), begun);
}

TEST_F(MappingShareTest, WhereNobodyTellsInstancesAreCounted) {
  is_told_ = false;
  const std::size_t begun = begin_all(nullptr);
  EXPECT_GT(begun, 0U);
  EXPECT_LT(begun, guests_max);
}

}  // namespace
}  // namespace cloche::wasm
