// SPDX-License-Identifier: Apache-2.0
#include "wasm/packed_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "wasm/memory_image.h"
#include "wasm/memory_testing.h"
#include "wasm/wat_testing.h"

namespace cloche::wasm {
namespace {

class PackedMemoryTest : public LivesTest {
 protected:
  // As guests do: a few words here and there, now and then all of a page, sometimes what was there.
  void write_some(Instance& guest) {
    const std::span<std::byte> memory = memory_of(guest);
    for (int i = 0; i < 40; ++i) {
      const std::uint64_t start = below(memory.size() / page) * page;
      if (below(5) == 0) {
        for (std::uint64_t at = start; at < start + page; ++at) memory[at] = byte();
        continue;
      }
      for (std::uint64_t words = below(20); words > 0; --words) {
        const std::uint64_t at = start + below(page);
        memory[at] = below(4) == 0 ? memory[at] : byte();
      }
      memory[start] = memory[start + page - 1] = byte();
    }
  }

  std::unique_ptr<Instance> life_of(const std::shared_ptr<const PackedImage>& packed) {
    InstanceOptions options;
    options.packed = packed;
    return guests.make(module, options);
  }

  std::shared_ptr<const MemoryImage> image_of_some() {
    const auto guest = life();
    write_some(*guest);
    return captured(*guest);
  }

  // What begins with a packed image has `content`, however it goes on.
  bool pack_either_way(Instance& guest, const std::string& content) {
    if (below(2) == 0) return pack_memory(guest);
    const std::shared_ptr<const PackedImage> packed = pack_as_image(guest);
    if (!packed) return false;
    const auto other = life_of(packed);
    if (below(3) == 0) (void)captured(*other);
    if (below(3) == 0) (void)pack_as_image(*other);
    EXPECT_EQ(content_of(*other), content);
    EXPECT_EQ(content_of(*life_of(packed)), content);
    return true;
  }

  std::vector<PageRun> some_runs(std::uint64_t size) {
    std::vector<PageRun> runs;
    for (std::uint64_t at = below(8) * page; at < size;) {
      runs.push_back({at, std::min((below(40) + 1) * page, size - at)});
      at = runs.back().end() + (below(40) + 1) * page;
    }
    return runs;
  }

  static std::uint64_t private_bytes(Instance& guest) {
    const GuestMemory memory = guest.mapped_memory();
    return bytes_of(find_private_pages(memory.base(), memory.size()));
  }

  std::uint64_t below(std::uint64_t end) { return random_() % end; }
  std::byte byte() { return static_cast<std::byte>(random_()); }

 private:
  std::minstd_rand random_{7};
};

TEST_F(PackedMemoryTest, HoldsTheSameForWhoeverUsesItNext) {
  const auto guest = life(image_of_some());
  write_some(*guest);
  const std::string before = content_of(*guest);
  const std::uint64_t written = private_bytes(*guest);
  EXPECT_GT(written, 0U);
  ASSERT_TRUE(pack_memory(*guest));
  EXPECT_EQ(private_bytes(*guest), 0U);
  EXPECT_LT(guest->memory_map().packed->words.size() * 4, written);
  EXPECT_FALSE(pack_memory(*guest)) << "it is packed";
  std::int32_t word = 0;
  std::memcpy(&word, before.data() + 8192, sizeof(word));
  on_guest_thread(
      [&] { EXPECT_EQ(guest->call("load", {Value::i32(8192)}).result.as_i32(), word); });
  EXPECT_EQ(content_of(*guest), before);
}

TEST_F(PackedMemoryTest, HoldsTheSameHoweverItsLifeGoesOn) {
  for (int life_number = 0; life_number < 30; ++life_number) {
    SCOPED_TRACE(life_number);
    std::shared_ptr<const MemoryImage> image;
    if (below(2) == 0) {
      image = image_of_some();
      ASSERT_NE(image, nullptr);
    }
    const auto guest = life(image, image != nullptr && below(2) == 0);
    std::string content = content_of(*guest);
    for (int step = 0; step < 12; ++step) {
      switch (below(4)) {
        case 0: write_some(*guest); break;
        case 1: ASSERT_TRUE(guest->grow(below(3) + 1)); break;
        case 2: {
          const auto next = captured(*guest);
          ASSERT_NE(next, nullptr);
          EXPECT_EQ(content_of(*life(next)), content);
          break;
        }
        default: pack_either_way(*guest, content); continue;  // what it holds is looked at later
      }
      content = content_of(*guest);
      if (pack_either_way(*guest, content)) {
        EXPECT_FALSE(guest->memory_map().is_ready());
      }
      if (below(2) == 0) {
        const auto fork = captured(*guest);
        ASSERT_NE(fork, nullptr);
        ASSERT_EQ(content_of(*life(fork)), content);
      }
      ASSERT_EQ(content_of(*guest), content) << step;
    }
  }
}

TEST_F(PackedMemoryTest, AnEndLeavesNothingForTheNextLife) {
  const auto image = image_of_some();
  const std::string first = content_of(*life(image));
  for (int i = 0; i < 12; ++i) {
    const auto guest = life(image, i % 3 == 0);
    ASSERT_EQ(content_of(*guest), first);
    write_some(*guest);
    (void)pack_memory(*guest);
    if (i % 2 == 0) (void)guest->memory();
  }
}

TEST_F(PackedMemoryTest, AsAnImageItKeepsNoneButTheFirst) {
  const auto first = image_of_some();
  auto guest = life(first);
  ASSERT_TRUE(guest->grow(2));
  write_some(*guest);
  std::weak_ptr<const MemoryImage> second = captured(*guest);
  write_some(*guest);
  ASSERT_TRUE(guest->set_global("__stack_pointer", Value::i32(77)));
  const std::string content = content_of(*guest);
  EXPECT_FALSE(second.expired());

  const auto packed = pack_as_image(*guest);
  ASSERT_NE(packed, nullptr);
  EXPECT_TRUE(second.expired());
  EXPECT_EQ(packed->first, first);
  EXPECT_EQ(private_bytes(*guest), 0U);
  EXPECT_EQ(content_of(*guest), content);
  guest.reset();
  const auto next = life_of(packed);
  EXPECT_EQ(next->global("__stack_pointer")->as_i32(), 77);
  EXPECT_EQ(content_of(*next), content);
}

TEST_F(PackedMemoryTest, WhatIsUnusedGoesAndNothingElse) {
  for (int life_number = 0; life_number < 40; ++life_number) {
    SCOPED_TRACE(life_number);
    std::shared_ptr<const MemoryImage> image;
    if (below(3) != 0) image = image_of_some();
    const auto guest = life(image, image != nullptr && below(2) == 0);
    for (int step = 0; step < 8; ++step) {
      if (below(3) == 0) (void)guest->grow(below(8) + 1);
      write_some(*guest);
      std::string content = content_of(*guest);
      const std::vector<PageRun> unused = some_runs(content.size());
      std::string other = content;
      switch (below(4)) {
        case 0: {
          const auto fork = MemoryImage::capture(*guest, [&](Instance&) { return unused; });
          ASSERT_TRUE(fork.ok());
          other = content_of(*life(*fork));
          break;
        }
        case 1: {
          give_back_unused(*guest, unused);
          const auto packed = pack_as_image(*guest, unused);
          if (packed) other = content_of(*life_of(packed));
          break;
        }
        case 2: give_back_unused(*guest, unused); break;
        default: (void)captured(*guest);
      }
      std::string after = content_of(*guest);
      for (const PageRun& run : unused) {
        for (std::string* each : {&content, &after, &other})
          std::fill_n(each->begin() + static_cast<std::ptrdiff_t>(run.start), run.length, '\0');
      }
      ASSERT_TRUE(after == content && other == content) << step;
      // Who uses it again writes it first.
      const std::span<std::byte> memory = memory_of(*guest);
      for (const PageRun& run : unused)
        std::ranges::fill(memory.subspan(run.start, run.length), byte());
    }
  }
}

TEST_F(PackedMemoryTest, AnImageHasNoneOfWhatIsUnused) {
  const auto guest = life(image_of_some());
  const std::uint64_t start = guest->memory().size();
  ASSERT_TRUE(guest->grow((8U << 20) / wasm_page).ok());
  const std::span<std::byte> memory = memory_of(*guest);
  for (std::uint64_t at = start; at < memory.size(); at += page) memory[at] = std::byte{1};
  const auto unused = [&](Instance&) { return std::vector<PageRun>{{start, 7U << 20}}; };
  const auto before = MemoryImage::capture(*guest);
  ASSERT_TRUE(before.ok());
  EXPECT_GE((*before)->own_bytes(), 8U << 20);
  memory_of(*guest)[8192] = std::byte{9};
  const auto image = MemoryImage::capture(*guest, unused);
  ASSERT_TRUE(image.ok());
  std::uint64_t bytes = 0;
  for (std::size_t i = 1; i < (*image)->segments().size(); ++i)
    bytes += (*image)->segments()[i].length;
  EXPECT_LT(bytes, 2U << 20) << "nor of what an image before has there";
}

TEST_F(PackedMemoryTest, WhatIsUnusedAmongWhatGrewIsTheHostsAgain) {
  for (const bool to_be_captured : {false, true}) {
    const auto guest = life(image_of_some(), to_be_captured);
    const std::uint64_t start = guest->memory().size();
    ASSERT_TRUE(guest->grow((16U << 20) / wasm_page).ok());
    const std::span<std::byte> memory = memory_of(*guest);
    for (std::uint64_t at = start; at < memory.size(); at += page) memory[at] = std::byte{1};
    memory[start] = std::byte{7};
    give_back_unused(*guest, {{start + page, (16U << 20) - page}});
    EXPECT_EQ(memory[start], std::byte{7});
    EXPECT_EQ(memory[start + page], std::byte{0});
    EXPECT_TRUE(pack_memory(*guest)) << "what is left is little";
  }
}

TEST_F(PackedMemoryTest, WhatIsPreparedForACaptureIsNoPackedImage) {
  const auto guest = life(image_of_some(), true);
  write_some(*guest);
  const std::string content = content_of(*guest);
  EXPECT_EQ(pack_as_image(*guest), nullptr);
  EXPECT_EQ(content_of(*guest), content);
}

TEST_F(PackedMemoryTest, WhatIsLargeStays) {
  const auto guest = life(image_of_some());
  ASSERT_TRUE(guest->grow((16U << 20) / wasm_page));
  const std::span<std::byte> memory = memory_of(*guest);
  for (std::uint64_t at = 0; at < memory.size(); at += page) memory[at] = std::byte{1};
  EXPECT_FALSE(pack_memory(*guest));
  EXPECT_TRUE(guest->memory_map().is_ready());
}

// Holes of its files are looked at as holes: to look by the mapping would fill them.
TEST_F(PackedMemoryTest, NothingIsAddedToTheImage) {
  const auto image = image_of_some();
  const auto bytes_of_files = [&] {
    std::uint64_t bytes = 0;
    for (const MemoryImage::Segment& segment : image->segments())
      bytes += bytes_of(find_file_data(segment.file->fd.get(), segment.length));
    return bytes;
  };
  const auto guest = life(image);
  const std::span<std::byte> memory = memory_of(*guest);
  for (std::uint64_t at = 0; at < memory.size(); at += page) memory[at] = std::byte{1};
  const std::uint64_t before = bytes_of_files();
  ASSERT_TRUE(pack_memory(*guest));
  EXPECT_EQ(bytes_of_files(), before);
}

TEST_F(PackedMemoryTest, WhatIsUntouchedTakesNothing) {
  const auto guest = life(image_of_some());
  const std::string before = content_of(*guest);
  // The memory of a guest before has pages of its own, and patches are such.
  const bool is_packed = pack_memory(*guest);
  EXPECT_TRUE(!is_packed || guest->memory_map().packed->words.size() < page);
  EXPECT_EQ(content_of(*guest), before);
}

}  // namespace
}  // namespace cloche::wasm
