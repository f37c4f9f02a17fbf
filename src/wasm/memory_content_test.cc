// SPDX-License-Identifier: Apache-2.0
#include "wasm/memory_content.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <random>

#include "wasm/memory_image.h"
#include "wasm/memory_testing.h"
#include "wasm/wat_testing.h"

namespace cloche::wasm {
namespace {

class MemoryContentTest : public LivesTest {
 protected:
  static void fill(Instance& guest, int value) {
    std::ranges::fill(memory_of(guest), static_cast<std::byte>(value));
  }
  static std::shared_ptr<const MemoryImage> capture(Instance& guest) {
    auto image = MemoryImage::capture(guest);
    EXPECT_TRUE(image.ok());
    return image ? *image : nullptr;
  }
  // An image of a guest that has written some pages here and there.
  std::shared_ptr<const MemoryImage> image_of_some() {
    const auto guest = life();
    const std::span<std::byte> memory = memory_of(*guest);
    for (std::uint64_t at = page; at < memory.size(); at += 5 * page) memory[at] = std::byte{9};
    return capture(*guest);
  }
  static bool is_mapped(const std::byte* at) {
    unsigned char resident = 0;
    return mincore(const_cast<std::byte*>(at), page, &resident) == 0;
  }
};

TEST_F(MemoryContentTest, NothingOfALifeIsLeftForTheNext) {
  const std::string first = content_of(*life());
  bool was_warm = false;
  for (int i = 1; i < 6; ++i) {
    const auto guest = life();
    was_warm = guest->warmth() != nullptr;
    ASSERT_EQ(content_of(*guest), first) << i;
    fill(*guest, i);
  }
  EXPECT_TRUE(was_warm);
}

TEST_F(MemoryContentTest, WhatWasGrownIsGone) {
  for (const bool to_be_captured : {false, true}) {
    const auto image = image_of_some();
    const std::string first = content_of(*life(image, to_be_captured));
    for (int i = 1; i < 6; ++i) {
      const auto guest = life(image, to_be_captured);
      ASSERT_EQ(content_of(*guest), first) << i;
      const auto beyond = static_cast<std::uint32_t>(first.size());
      on_guest_thread(
          [&] { EXPECT_EQ(guest->call("load", {Value::i32(beyond)}).trap, Trap::memory); });
      // More than is kept of a life, and less.
      ASSERT_TRUE(guest->grow(static_cast<std::uint64_t>(i % 2 == 0 ? 100 : 1)));
      ASSERT_EQ(guest->memory().read<std::uint32_t>(beyond).value(), 0U);
      fill(*guest, i);
    }
  }
}

TEST_F(MemoryContentTest, AnImageComesBackWithItsGlobals) {
  const auto guest = life();
  ASSERT_TRUE(guest->set_global("__stack_pointer", Value::i32(77)));
  fill(*guest, 3);
  const auto image = capture(*guest);
  const std::string first = content_of(*life(image));
  ASSERT_EQ(first, std::string(first.size(), '\3'));
  for (int i = 4; i < 8; ++i) {
    const auto next = life(image);
    ASSERT_EQ(content_of(*next), first);
    ASSERT_EQ(next->global("__stack_pointer")->as_i32(), 77);
    ASSERT_TRUE(next->set_global("__stack_pointer", Value::i32(5)));
    fill(*next, i);
  }
}

TEST_F(MemoryContentTest, AContentThatIsUsedOnceKeepsNothing) {
  const std::byte* base = nullptr;
  {
    const auto image = image_of_some();
    const auto guest = life(image);
    base = guest->memory().base();
  }
  EXPECT_FALSE(is_mapped(base));
}

TEST_F(MemoryContentTest, TheMemoriesOfAContentGoWithIt) {
  auto image = image_of_some();
  life(image).reset();
  auto guest = life(image);
  const std::byte* base = guest->memory().base();
  guest.reset();
  EXPECT_TRUE(is_mapped(base));
  image.reset();
  EXPECT_FALSE(is_mapped(base));
}

TEST_F(MemoryContentTest, ARestingMemoryIsChargedToNobody) {
  const auto budget = std::make_shared<MemoryBudget>(64 * wasm_page);
  InstanceOptions options;
  options.budget = budget;
  for (int i = 0; i < 5; ++i) {
    const auto guest = guests.make(module, options);
    EXPECT_GE(budget->used_bytes(), 32 * wasm_page);
    EXPECT_TRUE(guest->grow(10));
    EXPECT_FALSE(guest->grow(30));
  }
  EXPECT_EQ(budget->used_bytes(), 0U);
  options.budget = std::make_shared<MemoryBudget>(16 * wasm_page);
  EXPECT_FALSE(Instance::create(module, options).ok());
  options.budget = budget;
  EXPECT_TRUE(Instance::create(module, options).ok());
}

TEST_F(MemoryContentTest, AClonesMemoryIsKeptToo) {
  const auto image = image_of_some();
  const std::string first = content_of(*life(image));
  for (int i = 1; i < 6; ++i) {
    const auto parent = life(image);
    ASSERT_EQ(content_of(*parent), first) << i;
    std::ranges::fill(memory_of(*parent).subspan(3 * page, 50 * page), static_cast<std::byte>(i));
    const auto child = life(image);
    ASSERT_TRUE(copy_into_clone(*parent, *child));
    ASSERT_EQ(content_of(*child), content_of(*parent)) << i;
    fill(*child, i + 100);
  }
}

TEST_F(MemoryContentTest, RestingMemoriesMakeRoomForFiles) {
  const auto image = image_of_some();
  const auto other = image_of_some();
  life(image, true).reset();
  life(image, true).reset();
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const int lowest_free = open("/dev/null", O_RDONLY | O_CLOEXEC);
  ASSERT_GE(lowest_free, 0);
  close(lowest_free);
  const rlimit none_left{static_cast<rlim_t>(lowest_free), before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none_left), 0);
  InstanceOptions options;
  options.image = other;
  options.to_be_captured = true;
  const auto first = Instance::create(module, options);
  const auto second = Instance::create(module, options);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_TRUE(first.ok());
  EXPECT_FALSE(second.ok());
}

// Whatever guests do, in whatever order they end: each begins with its content.
TEST_F(MemoryContentTest, IsExactAfterAnySequence) {
  struct Start {
    std::shared_ptr<const MemoryImage> image;
    std::string content;
  };
  std::mt19937 random(2026);
  const auto below = [&](std::size_t limit) {
    return std::uniform_int_distribution<std::size_t>(0, limit - 1)(random);
  };
  std::vector<Start> starts{{nullptr, content_of(*life())}};
  std::vector<std::unique_ptr<Instance>> running;
  int warm_count = 0;
  for (int step = 0; step < 3000; ++step) {
    const std::size_t what = below(10);
    if (running.empty() || what < 3) {
      const Start& start = starts[below(starts.size())];
      auto guest = life(start.image, below(2) == 0);
      warm_count += guest->warmth() != nullptr ? 1 : 0;
      ASSERT_EQ(content_of(*guest), start.content) << step;
      running.push_back(std::move(guest));
      if (running.size() < 8) continue;
    }
    const std::size_t chosen = below(running.size());
    Instance& guest = *running[chosen];
    const std::span<std::byte> memory = memory_of(guest);
    if (what < 7) {
      const std::uint64_t from = below(memory.size());
      const std::uint64_t length = below(std::size_t{1} << below(20)) + 1;
      std::ranges::fill(memory.subspan(from, std::min(length, memory.size() - from)),
                        static_cast<std::byte>(random()));
    } else if (what == 7 && memory.size() < 200 * wasm_page) {
      ASSERT_TRUE(guest.grow(below(8)));
    } else if (what == 8 && below(5) == 0) {
      const auto image = capture(guest);
      starts.push_back({image, content_of(guest)});
      if (starts.size() > 6) starts.erase(starts.begin() + 1);
    } else {
      running.erase(running.begin() + static_cast<std::ptrdiff_t>(chosen));
    }
  }
  EXPECT_GT(warm_count, 200);
}

}  // namespace
}  // namespace cloche::wasm
