// SPDX-License-Identifier: Apache-2.0
#include "python/unused_heap.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "wasm/memory_testing.h"
#include "wasm/wat_testing.h"

namespace cloche::python {
namespace {

// As malloc.c 2.8.6 lays its state and its chunks out.
constexpr std::uint32_t state = 1024, dv_size = 8, top_size = 12, dv = 20, top = 24, tree = 304;
constexpr std::uint64_t memory_bytes = 4 << 20;

class UnusedHeap : public testing::Test {
 protected:
  void put(std::uint64_t at, std::uint32_t value) {
    std::memcpy(wasm::memory_of(*guest_).data() + at, &value, sizeof value);
  }
  // A free chunk that is alone of its size.
  void put_chunk(std::uint32_t at, std::uint32_t bytes, std::uint32_t left, std::uint32_t right) {
    put(at + 4, bytes | 1);
    put(at + 8, at);
    put(at + 16, left);
    put(at + 20, right);
  }

  wasm::GuestMaker guests_;
  std::unique_ptr<wasm::Instance> guest_ = guests_.make(guests_.link(R"((module
    (memory (export "memory") 64)
    (global (export "__cloche_heap") i32 (i32.const 1024))))"));
};

TEST_F(UnusedHeap, IsTheWholePagesOfItsLargeChunks) {
  EXPECT_TRUE(unused_heap(*guest_).empty());
  put(state + top, 3 << 20);
  put(state + top_size, 1 << 19);
  put(state + dv, (2 << 20) + 16);
  put(state + dv_size, 200 << 10);
  put_chunk(1 << 20, 300 << 10, 1 << 16, 0);
  put_chunk(1 << 16, 256 << 10, 0, 0);
  put(state + tree + 4 * 20, 1 << 20);
  put_chunk(2600 << 10, 1000, 0, 0);
  put(state + tree + 4, 2600 << 10);
  const auto runs = unused_heap(*guest_);
  ASSERT_EQ(runs.size(), 4U);
  EXPECT_EQ(runs[0].start, (1U << 16) + 4096);
  EXPECT_EQ(runs[0].length, (256U << 10) - 4096);
  EXPECT_EQ(runs[1].start, (1U << 20) + 4096);
  EXPECT_EQ(runs[2].start, (2U << 20) + 4096);
  EXPECT_EQ(runs[2].end(), (2U << 20) + (200U << 10));
  EXPECT_EQ(runs[3].end(), (3U << 20) + (1U << 19));
}

TEST_F(UnusedHeap, HasOthersOfTheSameSizeButNoneInUse) {
  put_chunk(1 << 20, 1 << 19, 0, 0);
  put_chunk(2 << 20, 1 << 19, 0, 0);
  put((1 << 20) + 8, 2 << 20);
  put((2 << 20) + 8, 1 << 20);
  put(state + tree, 1 << 20);
  EXPECT_EQ(unused_heap(*guest_).size(), 2U);
  put((2 << 20) + 4, (1 << 19) | 3);
  EXPECT_EQ(unused_heap(*guest_).size(), 1U);
}

TEST_F(UnusedHeap, OfAGuestThatLiesEndsAndStaysWithinItsMemory) {
  std::minstd_rand random{11};
  const auto some_address = [&] {
    switch (random() % 4) {
      case 0: return static_cast<std::uint32_t>(random() % 1024 * 4096);
      case 1: return static_cast<std::uint32_t>(random());
      case 2: return static_cast<std::uint32_t>(random() % memory_bytes);
      default: return 0xffff'fffcU;
    }
  };
  for (int life = 0; life < 300; ++life) {
    for (std::uint32_t at = 0; at < tree + 32 * 4; at += 4) put(state + at, some_address());
    for (std::uint32_t page = 4; page < 1024; ++page) {
      for (std::uint32_t at = 4; at < 28; at += 4) put(page * 4096 + at, some_address());
    }
    std::uint64_t end = 0;
    for (const wasm::PageRun& run : unused_heap(*guest_)) {
      EXPECT_GE(run.start, end);
      end = run.end();
      EXPECT_EQ(run.start % 4096, 0U);
      EXPECT_EQ(run.length % 4096, 0U);
    }
    EXPECT_LE(end, memory_bytes);
  }
}

// Chunks that name each other for ever.
TEST_F(UnusedHeap, OfChunksInACircleEnds) {
  for (std::uint32_t at = 1 << 20; at < 3 << 20; at += 1 << 19)
    put_chunk(at, 1 << 17, at + (1 << 19), 1 << 20);
  for (std::uint32_t i = 0; i < 32; ++i) put(state + tree + 4 * i, 1 << 20);
  EXPECT_TRUE(unused_heap(*guest_).empty()) << "the same chunk is named more than once";
}

}  // namespace
}  // namespace cloche::python
