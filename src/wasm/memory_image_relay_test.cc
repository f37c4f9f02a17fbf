// SPDX-License-Identifier: Apache-2.0
// A memory that held one image and is made to hold another.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "wasm/memory_image.h"
#include "wasm/memory_pieces.h"
#include "wasm/memory_testing.h"
#include "wasm/wat_testing.h"

namespace cloche::wasm {
namespace {

class ImageRelayTest : public testing::Test {
 protected:
  std::unique_ptr<Instance> life(const std::shared_ptr<const MemoryImage>& image,
                                 bool to_be_captured = true) {
    InstanceOptions options;
    options.image = image;
    options.to_be_captured = to_be_captured;
    return guests.make(module, options);
  }
  static void fill(Instance& guest, std::uint64_t from, std::uint64_t bytes, int value) {
    std::ranges::fill(memory_of(guest).subspan(from, bytes), static_cast<std::byte>(value));
  }

  GuestMaker guests;
  std::shared_ptr<const LinkedModule> module = guests.link(growing_guest);
  std::shared_ptr<const MemoryImage> base = captured(*guests.make(module));
};

TEST_F(ImageRelayTest, AForkBeginsInTheMemoryOfTheForkBefore) {
  for (const bool prepared : {false, true}) {
    const auto parent = life(base, prepared);
    for (int i = 1; i < 8; ++i) {
      // Pages here and there, and a part that gets a mapping.
      for (std::uint64_t k = 0; k < 20; ++k) fill(*parent, (3 + 7 * k) * page, 100, i);
      fill(*parent, 200 * page, static_cast<std::uint64_t>(20 + i) * page, i);
      if (i % 2 == 0) {
        const std::uint64_t end = memory_of(*parent).size();
        ASSERT_TRUE(parent->grow(3));
        fill(*parent, end + page, wasm_page, i);
      }
      const auto image = captured(*parent);
      const auto fork = life(image, prepared);
      ASSERT_EQ(content_of(*fork), content_of(*life(image, !prepared))) << i;
      ASSERT_EQ(content_of(*fork), content_of(*parent)) << i;
      EXPECT_TRUE(i == 1 || fork->warmth() != nullptr) << i;
      // All of it, or little.
      fill(*fork, 0, i % 3 == 0 ? memory_of(*fork).size() : 50 * page, 0xaa);
      if (i % 3 == 1) {
        ASSERT_TRUE(fork->grow(40));
        fill(*fork, memory_of(*fork).size() - 10 * wasm_page, 10 * wasm_page, 0xbb);
      }
    }
  }
}

TEST_F(ImageRelayTest, AForksFirstMemoryIsOneOfTheBootImage) {
  life(base).reset();
  life(base).reset();
  const auto parent = life(base);  // takes what is there
  auto another = life(base);
  fill(*another, 0, 30 * page, 0xcc);
  another.reset();
  fill(*parent, 5 * page, 40 * page, 1);
  const auto fork = life(captured(*parent));
  EXPECT_NE(fork->warmth(), nullptr);
  EXPECT_EQ(content_of(*fork), content_of(*parent));
  EXPECT_EQ(content_of(*fork).find('\xcc'), std::string::npos);
}

// A chain, as of a program that goes back to what it has saved: each ends as the next has its image.
TEST_F(ImageRelayTest, AGuestThatWasCapturedLeavesItsMemoryToTheNext) {
  auto guest = life(base);
  for (int i = 1; i < 12; ++i) {
    fill(*guest, 0, 30 * page, i);
    fill(*guest, 300 * page, 100 * page, i);  // a part that is written again and again
    ASSERT_TRUE(guest->grow(2));
    fill(*guest, memory_of(*guest).size() - page, page, i);
    const auto image = captured(*guest);
    const std::string content = content_of(*life(image, false));
    // It has gone on, or not.
    if (i % 2 == 0) finish_mapping(*guest, Before::the_guest_runs);
    if (i % 3 == 0) fill(*guest, 0, 200 * page, 0xdd);
    if (i % 4 == 0) {
      ASSERT_TRUE(guest->grow(5));
      fill(*guest, memory_of(*guest).size() - page, page, 0xdd);
    }
    guest.reset();
    guest = life(image);
    ASSERT_NE(guest->warmth(), nullptr) << i;
    ASSERT_EQ(content_of(*guest), content) << i;
  }
}

TEST_F(ImageRelayTest, ChargesWhoHasItNow) {
  const auto parent = life(base);
  life(captured(*parent)).reset();
  fill(*parent, 0, page, 1);
  InstanceOptions options;
  options.image = captured(*parent);
  options.to_be_captured = true;
  options.budget = std::make_shared<MemoryBudget>(63 * wasm_page);
  EXPECT_FALSE(Instance::create(module, options).ok());
  options.budget = std::make_shared<MemoryBudget>(70 * wasm_page);
  const auto fork = Instance::create(module, options);
  ASSERT_TRUE(fork.ok());
  EXPECT_GE(options.budget->used_bytes(), 64 * wasm_page);
  EXPECT_FALSE((*fork)->grow(20));
}

TEST_F(ImageRelayTest, WhatAnImageDoesNotNameIsGoneWithItsFile) {
  const auto parent = life(base, false);
  std::weak_ptr<const MemoryFile> file;
  {
    fill(*parent, 100 * page, 100 * page, 1);
    const auto image = captured(*parent);
    file = image->segments().back().file;
    fill(*life(image), 0, 20 * page, 2);
  }
  fill(*parent, 100 * page, 100 * page, 3);
  const auto image = captured(*parent);
  fill(*life(image), 0, 20 * page, 4);
  (void)memory_of(*parent);
  EXPECT_TRUE(file.expired());
}

// Chains and trees of forks that write, grow, end and are captured in any order.
TEST_F(ImageRelayTest, IsExactAfterAnySequence) {
  struct Guest {
    std::unique_ptr<Instance> instance;
    std::string content;
  };
  std::mt19937 random(77);
  const auto below = [&](std::size_t limit) {
    return std::uniform_int_distribution<std::size_t>(0, limit - 1)(random);
  };
  std::vector<Guest> running;
  int passed_on = 0;
  for (int step = 0; step < 3000; ++step) {
    if (running.empty()) running.push_back({life(base), content_of(*life(base))});
    const std::size_t chosen = below(running.size());
    Guest& guest = running[chosen];
    if (below(3) == 0) finish_mapping(*guest.instance, Before::the_guest_runs);
    const std::size_t what = below(10);
    if (what < 5) {
      const std::uint64_t from = below(guest.content.size() / page) * page;
      const std::uint64_t bytes =
          std::min<std::uint64_t>((below(std::size_t{1} << below(9)) + 1) * page - below(page),
                                  guest.content.size() - from);
      const auto value = static_cast<char>(random());
      fill(*guest.instance, from, bytes, value);
      std::fill_n(guest.content.begin() + static_cast<std::ptrdiff_t>(from), bytes, value);
    } else if (what == 5 && guest.content.size() < 200 * wasm_page) {
      const std::uint64_t more = below(8);
      ASSERT_TRUE(guest.instance->grow(more));
      guest.content.resize(guest.content.size() + more * wasm_page, '\0');
    } else if (what < 8 && running.size() < 6) {
      const auto image = captured(*guest.instance);
      Guest fork{life(image, below(4) != 0), guest.content};
      passed_on += fork.instance->warmth() != nullptr ? 1 : 0;
      ASSERT_EQ(content_of(*fork.instance), fork.content) << step;
      running.push_back(std::move(fork));
    } else if (what >= 8) {
      ASSERT_EQ(content_of(*guest.instance), guest.content) << step;
      running.erase(running.begin() + static_cast<std::ptrdiff_t>(chosen));
    }
  }
  EXPECT_GT(passed_on, 100);
}

TEST(MemoryPieces, LieBesideEachOther) {
  const auto a = std::make_shared<MemoryFile>(), b = std::make_shared<MemoryFile>();
  const auto pieces = pieces_of({{0, 10 * page, 0, a},
                                 {2 * page, 3 * page, 7 * page, b},
                                 {9 * page, 4 * page, 0, b},
                                 {20 * page, page, 0, b}},
                                16 * page);
  ASSERT_EQ(pieces.size(), 5U);
  std::uint64_t end = 0;
  for (const MemoryPiece& piece : pieces) {
    EXPECT_EQ(piece.run.start, end);
    end = piece.run.end();
  }
  EXPECT_EQ(end, 16 * page);
  EXPECT_EQ(pieces[1].file, b.get());
  EXPECT_EQ(pieces[2].file, a.get());
  EXPECT_EQ(pieces[2].offset, 5 * page);
  EXPECT_EQ(pieces[4].file, nullptr);
  EXPECT_TRUE(changed_pieces(pieces, pieces).empty());

  const auto longer = pieces_of(
      {{0, 10 * page, 0, a}, {2 * page, 3 * page, 8 * page, b}, {9 * page, 4 * page, 0, b}},
      18 * page);
  const auto changed = changed_pieces(pieces, longer);
  ASSERT_EQ(changed.size(), 2U);
  EXPECT_EQ(changed[0].run.start, 2 * page);
  EXPECT_EQ(changed[0].offset, 8 * page);
  EXPECT_EQ(changed[1].run.start, 16 * page);
  EXPECT_EQ(changed[1].run.length, 2 * page);
  EXPECT_TRUE(pieces_of({}, 0).empty());
}

}  // namespace
}  // namespace cloche::wasm
