// SPDX-License-Identifier: Apache-2.0
#include "wasm/page_files.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>

#include "wasm/memory_image.h"
#include "wasm/memory_testing.h"
#include "wasm/wat_testing.h"

namespace cloche::wasm {
namespace {

class PageFilesTest : public testing::Test {
 protected:
  PageFilesTest() { give_back_page_files(); }

  std::unique_ptr<Instance> fresh() { return guests.make(module); }
  std::unique_ptr<Instance> child_of(const std::shared_ptr<const MemoryImage>& image) {
    InstanceOptions options;
    options.image = image;
    return guests.make(module, options);
  }
  // Of which what is captured later is what it has written.
  std::unique_ptr<Instance> parent() { return child_of(captured(*fresh())); }

  static void fill(Instance& guest, std::uint64_t from, std::uint64_t bytes, int value) {
    std::ranges::fill(memory_of(guest).subspan(from, bytes), static_cast<std::byte>(value));
  }

  GuestMaker guests;
  std::shared_ptr<const LinkedModule> module = guests.link(growing_guest);
};

TEST_F(PageFilesTest, AFileServesOneImageAfterTheOther) {
  const auto guest = parent();
  constexpr std::uint64_t from = 16 * page, bytes = 512 * page;
  std::set<ino_t> files;
  for (int i = 1; i < 10; ++i) {
    fill(*guest, from, bytes, i);
    // Somewhat more and less than before.
    fill(*guest, from + bytes, static_cast<std::uint64_t>(i % 3) * page, i);
    const auto image = captured(*guest);
    EXPECT_EQ(content_of(*child_of(image)), content_of(*guest)) << i;
    const auto& segment = image->segments().back();
    struct stat status{};
    ASSERT_EQ(fstat(segment.file->fd.get(), &status), 0);
    files.insert(status.st_ino);
  }
  // The parent writes one, has one as its base, and the one before until it goes on.
  EXPECT_LE(files.size(), 3U);
}

TEST_F(PageFilesTest, NothingOfTheImageBeforeIsSeen) {
  const auto guest = parent();
  fill(*guest, 0, 64 * wasm_page, 0xaa);
  (void)captured(*guest);
  (void)content_of(*guest);  // is used
  fill(*guest, 0, 64 * wasm_page, 0xaa);
  (void)captured(*guest);
  (void)content_of(*guest);
  ASSERT_GE(resting_file_bytes(), 64 * wasm_page - page);

  const auto other = parent();
  fill(*other, 3 * page, 600 * page, 0x11);
  const auto image = captured(*other);
  EXPECT_EQ(resting_file_bytes(), 0U);
  EXPECT_EQ(content_of(*child_of(image)).find('\xaa'), std::string::npos);
  EXPECT_EQ(content_of(*child_of(image)), content_of(*other));
}

TEST_F(PageFilesTest, AnImageKeepsNoFileOfWhichLittleIsLeft) {
  const auto guest = parent();
  std::shared_ptr<const MemoryImage> image;
  for (int i = 1; i < 30; ++i) {
    // The first and last pages move, so that something is left of each before.
    const auto shift = static_cast<std::uint64_t>(i % 4) * page;
    fill(*guest, 16 * page + shift, 300 * page, i);
    image = captured(*guest);
    ASSERT_LE(image->segments().size(), 3U) << i;
    ASSERT_EQ(content_of(*child_of(image)), content_of(*guest)) << i;
  }
}

// A page that was cut out of the base lies over nothing that another image writes.
TEST_F(PageFilesTest, AMappingThatTheHostRefusedStaysWhatItWas) {
  const auto guest = parent();
  fill(*guest, 0, 500 * page, 1);
  auto image = captured(*guest);
  (void)content_of(*guest);  // its memory is the image's file now
  fill(*guest, 100 * page, 60 * page, 2);
  const std::string expected = content_of(*guest);
  image = captured(*guest);

  // No mapping can be split any more.
  constexpr std::size_t many = 70'000;
  void* room =
      mmap(nullptr, 2 * many * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(room, MAP_FAILED);
  std::size_t split = 0;
  while (split < many &&
         mprotect(static_cast<std::byte*>(room) + 2 * split * page, page, PROT_READ) == 0)
    ++split;
  const std::string now = split < many ? content_of(*guest) : std::string();
  munmap(room, 2 * many * page);
  if (split == many) GTEST_SKIP() << "this host lets a process have any number of mappings";
  ASSERT_EQ(now, expected);
  ASSERT_TRUE(guest->memory_map().base_unknown);

  // Others write all files that rest.
  image.reset();
  std::vector<std::shared_ptr<const MemoryImage>> images;
  for (int i = 0; i < 6; ++i) {
    const auto other = parent();
    fill(*other, 0, 500 * page, 0xbb);
    images.push_back(captured(*other));
  }
  EXPECT_EQ(content_of(*guest), expected);
  EXPECT_EQ(content_of(*child_of(captured(*guest))), expected);
}

// Whatever is captured, forked, cloned and let go of, in whatever order: each guest has what it and
// its ancestors wrote, and no other.
TEST_F(PageFilesTest, IsExactAfterAnySequence) {
  struct Guest {
    std::unique_ptr<Instance> instance;
    std::string content;
  };
  struct Image {
    std::shared_ptr<const MemoryImage> image;
    std::string content;
  };
  std::mt19937 random(41);
  const auto below = [&](std::size_t limit) {
    return std::uniform_int_distribution<std::size_t>(0, limit - 1)(random);
  };
  std::vector<Guest> running;
  std::vector<Image> images;
  {
    const auto first = fresh();
    images.push_back({captured(*first), content_of(*first)});
  }
  std::uint64_t most_resting = 0;
  for (int step = 0; step < 1500; ++step) {
    most_resting = std::max(most_resting, resting_file_bytes());
    const std::size_t what = below(12);
    if (running.empty() || (what < 2 && running.size() < 6)) {
      const Image& from = images[below(images.size())];
      InstanceOptions options;
      options.image = from.image;
      options.to_be_captured = below(3) == 0;
      running.push_back({guests.make(module, options), from.content});
      continue;
    }
    Guest& guest = running[below(running.size())];
    if (what < 7) {
      const std::uint64_t from = below(guest.content.size());
      const std::uint64_t bytes = std::min<std::uint64_t>(
          below(std::size_t{1} << (8 + below(14))) + 1, guest.content.size() - from);
      const auto value = static_cast<char>(random());
      std::ranges::fill(memory_of(*guest.instance).subspan(from, bytes),
                        static_cast<std::byte>(value));
      std::fill_n(guest.content.begin() + static_cast<std::ptrdiff_t>(from), bytes, value);
    } else if (what < 9) {
      images.push_back({captured(*guest.instance), guest.content});
      // The first one stays, so that there is always one.
      if (images.size() > 5)
        images.erase(images.begin() + 1 + static_cast<std::ptrdiff_t>(below(4)));
    } else if (what == 9 && guest.content.size() < 250 * wasm_page) {
      const std::uint64_t more = below(6);
      ASSERT_TRUE(guest.instance->grow(more));
      guest.content.resize(guest.content.size() + more * wasm_page, '\0');
    } else if (what == 10 && running.size() < 6) {
      const wasm::MemoryMap& map = guest.instance->memory_map();
      InstanceOptions options;
      if (!map.unfinished) options.image = map.base;
      Guest clone{guests.make(module, options), guest.content};
      ASSERT_TRUE(copy_into_clone(*guest.instance, *clone.instance)) << step;
      running.push_back(std::move(clone));
    } else if (what == 11) {
      ASSERT_EQ(content_of(*guest.instance), guest.content) << step;
      running.erase(running.begin() + (&guest - running.data()));
    }
  }
  for (Guest& guest : running) EXPECT_EQ(content_of(*guest.instance), guest.content);
  for (Image& image : images) EXPECT_EQ(content_of(*child_of(image.image)), image.content);
  EXPECT_GT(most_resting, 0U);
}

}  // namespace
}  // namespace cloche::wasm
