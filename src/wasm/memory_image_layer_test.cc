// SPDX-License-Identifier: Apache-2.0
// Memory images as pages over another one.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "wasm/image_memory.h"
#include "wasm/memory_image.h"
#include "wasm/memory_testing.h"
#include "wasm/page_sums.h"
#include "wasm/wat_testing.h"

namespace cloche::wasm {
namespace {

constexpr std::string_view guest_text = R"((module
  (memory (export "memory") 16 256)
  (data (i32.const 8192) "initial")
  (global (export "__stack_pointer") (mut i32) (i32.const 1000))))";

class LayerTest : public testing::Test {
 protected:
  std::unique_ptr<Instance> life(const std::shared_ptr<const MemoryImage>& image,
                                 bool to_be_captured = false) {
    InstanceOptions options;
    options.image = image;
    options.to_be_captured = to_be_captured;
    return guests.make(module, options);
  }
  // What a file of it would have, the longest run first.
  static MemoryImage::Layer layer_of(const MemoryImage& image, std::vector<PageRun> runs) {
    std::ranges::stable_sort(runs, std::ranges::greater{}, &PageRun::length);
    auto file = create_memory_file(page + bytes_of(runs));
    EXPECT_TRUE(file.ok());
    EXPECT_TRUE(write_runs(**file, page, image.content().view().data(), runs).ok());
    return {image.memory_bytes(), std::move(runs), *file, page, image.globals()};
  }

  GuestMaker guests;
  std::shared_ptr<const LinkedModule> module = guests.link(guest_text);
  std::shared_ptr<const MemoryImage> base = captured(*guests.make(module));
};

TEST_F(LayerTest, HasWhatItsImageHad) {
  std::mt19937 random(11);
  for (int round = 0; round < 40; ++round) {
    const auto guest = life(base, round % 2 == 0);
    ASSERT_TRUE(guest->grow(random() % 20));
    // Zeros are content too, where the base has something else.
    std::ranges::fill(memory_of(*guest).subspan(8192, 8), std::byte{0});
    for (int i = 0; i < round * 4; ++i) {
      const std::span<std::byte> memory = memory_of(*guest);
      const std::uint64_t from = random() % memory.size();
      const std::uint64_t bytes = std::min<std::uint64_t>(
          1 + random() % (i % 4 == 0 ? 40 * page : 10), memory.size() - from);
      std::ranges::fill(memory.subspan(from, bytes), static_cast<std::byte>(random()));
      if (i % 50 == 17) (void)captured(*guest);  // a chain of images
    }
    ASSERT_TRUE(guest->set_global("__stack_pointer", Value::i32(round)));
    const auto image = captured(*guest);
    const auto runs = image->pages_over(*base);
    ASSERT_TRUE(runs.has_value());
    const auto again = MemoryImage::over(*base, layer_of(*image, *runs));
    ASSERT_TRUE(again.ok()) << round;
    ASSERT_LE((*again)->segments().size(), MemoryImage::max_segments);
    const auto child = life(*again, true);
    ASSERT_EQ(content_of(*child), content_of(*guest)) << round;
    ASSERT_EQ(child->global("__stack_pointer"), Value::i32(round));
    // It is a base like any other.
    memory_of(*child)[3 * page] = std::byte{77};
    ASSERT_EQ(content_of(*life(captured(*child))), content_of(*child));
  }
}

TEST_F(LayerTest, AnImageOfAnotherLineHasNone) {
  const auto stranger = captured(*guests.make(module));
  EXPECT_FALSE(stranger->pages_over(*base).has_value());
  EXPECT_TRUE(base->pages_over(*base)->empty());
}

TEST_F(LayerTest, PagesThatNoMemoryHasAreRefused) {
  const auto refused = [&](std::uint64_t memory_bytes, std::vector<PageRun> runs) {
    const auto file = create_memory_file(64 * wasm_page);
    const auto image =
        MemoryImage::over(*base, {memory_bytes, std::move(runs), *file, 0, base->globals()});
    return !image.ok() && image.error() == Errno::inval;
  };
  const std::uint64_t bytes = base->memory_bytes();
  EXPECT_FALSE(refused(bytes, {{0, 2 * page}, {4 * page, page}}));
  EXPECT_TRUE(refused(bytes, {{bytes, page}}));
  EXPECT_TRUE(refused(bytes, {{bytes - page, 2 * page}}));
  EXPECT_TRUE(refused(bytes, {{page, ~std::uint64_t{0} - page + 1}}));
  EXPECT_TRUE(refused(bytes, {{~std::uint64_t{0} - page + 1, 2 * page}}));
  EXPECT_TRUE(refused(bytes, {{1, page}}));
  EXPECT_TRUE(refused(bytes, {{0, page + 1}}));
  EXPECT_TRUE(refused(bytes, {{0, 0}}));
  EXPECT_TRUE(refused(bytes, {{0, 2 * page}, {page, page}}));
  EXPECT_TRUE(refused(bytes - wasm_page, {}));
  EXPECT_TRUE(refused(bytes + page, {}));
  EXPECT_TRUE(refused((std::uint64_t{4} << 30) + wasm_page, {}));
}

TEST_F(LayerTest, TheSumIsOfThePagesOutside) {
  const auto with = [&](std::uint64_t at) {
    const auto guest = guests.make(module);
    memory_of(*guest)[at] = std::byte{9};
    PageSums sums;
    return sums.outside(*captured(*guest), {{2 * page, 3 * page}, {15 * wasm_page, wasm_page}});
  };
  const std::string plain = with(2 * page);
  EXPECT_EQ(plain.size(), 32U);
  EXPECT_EQ(with(5 * page - 1), plain);
  EXPECT_EQ(with(16 * wasm_page - 1), plain);
  EXPECT_NE(with(2 * page - 1), plain);
  EXPECT_NE(with(5 * page), plain);

  RunningSum running;
  const std::string text = "what comes in parts";
  running.add(std::as_bytes(std::span(text).first(5)));
  running.add(std::as_bytes(std::span(text).subspan(5)));
  EXPECT_EQ(running.end(), sum_of(std::as_bytes(std::span(text))));
}

}  // namespace
}  // namespace cloche::wasm
