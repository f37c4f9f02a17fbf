// SPDX-License-Identifier: Apache-2.0
// Parts of memory that are written anew between images: they have files of their own, which a
// capture takes without a copy.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <random>

#include "wasm/memory_image.h"
#include "wasm/memory_testing.h"
#include "wasm/page_files.h"
#include "wasm/wat_testing.h"

namespace cloche::wasm {
namespace {

class RewrittenPartsTest : public testing::Test {
 protected:
  RewrittenPartsTest() { give_back_page_files(); }

  std::unique_ptr<Instance> life(const std::shared_ptr<const MemoryImage>& image,
                                 bool to_be_captured = false) {
    InstanceOptions options;
    options.image = image;
    options.to_be_captured = to_be_captured;
    return guests.make(module, options);
  }
  std::unique_ptr<Instance> parent() { return life(captured(*guests.make(module)), true); }

  static void fill(Instance& guest, std::uint64_t from, std::uint64_t bytes, int value) {
    std::ranges::fill(memory_of(guest).subspan(from, bytes), static_cast<std::byte>(value));
  }
  static void goes_on(Instance& guest) { finish_mapping(guest, Before::the_guest_runs); }
  // Writes those pages, is captured, goes on.
  static std::shared_ptr<const MemoryImage> round(Instance& guest, int value) {
    fill(guest, from, bytes, value);
    auto image = captured(guest);
    goes_on(guest);
    return image;
  }

  static constexpr std::uint64_t from = 16 * page, bytes = 300 * page;
  GuestMaker guests;
  std::shared_ptr<const LinkedModule> module = guests.link(growing_guest);
};

TEST_F(RewrittenPartsTest, WhatIsWrittenAgainIsNotCopied) {
  const auto guest = life(captured(*guests.make(module)));
  (void)round(*guest, 1);
  EXPECT_TRUE(guest->memory_map().rewritten.empty());
  (void)round(*guest, 2);
  std::vector<std::shared_ptr<const MemoryImage>> images;
  for (int i = 3; i < 10; ++i) {
    ASSERT_EQ(guest->memory_map().rewritten.size(), 1U) << i;
    const std::shared_ptr<const MemoryFile> file = guest->memory_map().rewritten.front().file;
    images.push_back(round(*guest, i));
    EXPECT_EQ(images.back()->segments().back().file, file);
    EXPECT_EQ(images.back()->segments().size(), 2U);
    EXPECT_EQ(content_of(*life(images.back())), content_of(*guest)) << i;
    fill(*guest, from, bytes, 0xee);
  }
  // A host that looks makes none.
  (void)captured(*guest);
  (void)memory_of(*guest);
  EXPECT_TRUE(guest->memory_map().rewritten.empty());
  // What its guest did afterwards is in none of them.
  for (int i = 3; i < 10; ++i) {
    const std::string content = content_of(*life(images[static_cast<std::size_t>(i) - 3]));
    EXPECT_EQ(content.substr(from, bytes), std::string(bytes, static_cast<char>(i)));
  }
}

TEST_F(RewrittenPartsTest, AGuessThatWasWrongIsNotMadeAgain) {
  const auto guest = parent();
  (void)round(*guest, 1);
  (void)round(*guest, 2);
  ASSERT_EQ(guest->memory_map().rewritten.size(), 1U);
  fill(*guest, from + bytes / 2, page, 3);
  const auto image = captured(*guest);
  goes_on(*guest);
  EXPECT_EQ(content_of(*life(image)), content_of(*guest));
  EXPECT_TRUE(guest->memory_map().rewritten.empty());
  fill(*guest, from, page, 4);
  EXPECT_EQ(captured(*guest)->own_bytes(), page);
}

TEST_F(RewrittenPartsTest, ACloneHasThemAndNeitherSeesTheOther) {
  const auto guest = parent();
  (void)round(*guest, 1);
  (void)round(*guest, 2);
  fill(*guest, from, bytes, 3);
  ASSERT_EQ(guest->memory_map().rewritten.size(), 1U);
  const auto clone = life(guest->memory_map().base);
  ASSERT_TRUE(copy_into_clone(*guest, *clone));
  const std::string content = content_of(*guest);
  EXPECT_EQ(content_of(*clone), content);
  fill(*clone, from, bytes, 4);
  EXPECT_EQ(content_of(*guest), content);
  fill(*guest, from, bytes, 5);
  EXPECT_EQ(content_of(*clone).substr(from, bytes), std::string(bytes, '\4'));
}

TEST_F(RewrittenPartsTest, AHostWithoutDescriptorsGivesNoneAndLosesNothing) {
  const auto guest = parent();
  (void)round(*guest, 1);
  fill(*guest, from, bytes, 2);
  const auto image = captured(*guest);
  const std::string content = content_of(*life(image));
  give_back_page_files();
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const int lowest_free = open("/dev/null", O_RDONLY | O_CLOEXEC);
  ASSERT_GE(lowest_free, 0);
  close(lowest_free);
  const rlimit none_left{static_cast<rlim_t>(lowest_free), before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none_left), 0);
  goes_on(*guest);
  const std::string now = content_of(*guest);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_TRUE(guest->memory_map().rewritten.empty());
  EXPECT_EQ(now, content);
  fill(*guest, from, bytes, 3);
  EXPECT_EQ(content_of(*life(captured(*guest))), content_of(*guest));
  EXPECT_EQ(content_of(*life(image)), content);
}

// Their files are written over by others once their images are gone, and not before.
TEST_F(RewrittenPartsTest, AreExactAfterAnySequence) {
  struct Guest {
    std::unique_ptr<Instance> instance;
    std::string content;
  };
  struct Image {
    std::shared_ptr<const MemoryImage> image;
    std::string content;
  };
  std::mt19937 random(5);
  const auto below = [&](std::size_t limit) {
    return std::uniform_int_distribution<std::size_t>(0, limit - 1)(random);
  };
  std::vector<Guest> running;
  std::vector<Image> images;
  {
    const auto first = guests.make(module);
    images.push_back({captured(*first), content_of(*first)});
  }
  int taken = 0;
  for (int step = 0; step < 2000; ++step) {
    const std::size_t what = below(10);
    if (running.empty() || (what == 0 && running.size() < 4)) {
      const Image& start = images[below(images.size())];
      running.push_back({life(start.image, below(2) == 0), start.content});
      ASSERT_EQ(content_of(*running.back().instance), start.content) << step;
      continue;
    }
    Guest& guest = running[below(running.size())];
    if (below(4) != 0) goes_on(*guest.instance);
    if (what < 7) {
      // The same few parts again and again, whole or a page of them.
      const std::uint64_t start = 16 * page + below(3) * 100 * page;
      const std::uint64_t length = below(4) == 0 ? page : (70 + below(100)) * page;
      const auto value = static_cast<char>(random());
      fill(*guest.instance, start, length, value);
      std::fill_n(guest.content.begin() + static_cast<std::ptrdiff_t>(start), length, value);
      taken += guest.instance->memory_map().rewritten.empty() ? 0 : 1;
    }
    if (what >= 4 && what < 9) {
      images.push_back({captured(*guest.instance), guest.content});
      if (images.size() > 5)
        images.erase(images.begin() + 1 + static_cast<std::ptrdiff_t>(below(4)));
    } else if (what == 9) {
      ASSERT_EQ(content_of(*guest.instance), guest.content) << step;
      if (below(3) == 0) running.erase(running.begin() + (&guest - running.data()));
    }
  }
  for (Guest& guest : running) EXPECT_EQ(content_of(*guest.instance), guest.content);
  for (Image& image : images) EXPECT_EQ(content_of(*life(image.image)), image.content);
  EXPECT_GT(taken, 100);
}

}  // namespace
}  // namespace cloche::wasm
