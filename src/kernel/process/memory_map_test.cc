// SPDX-License-Identifier: Apache-2.0
#include "kernel/process/memory_map.h"

#include <gtest/gtest.h>

namespace cloche::kernel {
namespace {

constexpr std::uint64_t heap = 0x10000;
constexpr std::uint64_t end = 0x40000;

MemoryMap fresh() {
  MemoryMap map;
  map.reset(heap, end);
  return map;
}

TEST(MemoryMap, BreakMovesWithinMemoryOnly) {
  MemoryMap map = fresh();
  EXPECT_TRUE(map.set_brk(end));
  EXPECT_EQ(map.set_brk(end + 1).error(), Errno::nomem);
  EXPECT_EQ(map.set_brk(heap - 1).error(), Errno::nomem);
  EXPECT_EQ(map.brk(), end);
}

TEST(MemoryMap, BreakStopsAtTheFirstMapping) {
  MemoryMap map = fresh();
  const std::uint64_t mapped = map.allocate(page_bytes);
  EXPECT_EQ(mapped, end);
  map.grown(end + page_bytes);
  EXPECT_EQ(map.set_brk(end + 1).error(), Errno::nomem);
}

TEST(MemoryMap, FreedPagesAreHandedOutAgain) {
  MemoryMap map = fresh();
  const std::uint64_t a = map.allocate(4 * page_bytes);
  map.grown(map.memory_needed());
  map.release(a + page_bytes, 2 * page_bytes);
  EXPECT_EQ(map.find(a + page_bytes), nullptr);
  ASSERT_NE(map.find(a + 3 * page_bytes), nullptr);
  EXPECT_EQ(map.allocate(page_bytes), a + page_bytes);
  EXPECT_EQ(map.allocate(page_bytes), a + 2 * page_bytes);
  EXPECT_EQ(map.allocate(page_bytes), a + 4 * page_bytes);
}

TEST(MemoryMap, APartOfASharedMappingBecomesPrivate) {
  MemoryMap map = fresh();
  const std::uint64_t a = map.allocate(4 * page_bytes);
  map.share(a, SharedMapping{{}, 8 * page_bytes});
  map.grown(map.memory_needed());
  map.make_private(a + page_bytes, 2 * page_bytes);
  ASSERT_EQ(map.regions().size(), 3U);
  EXPECT_EQ(map.find(a)->second.end, a + page_bytes);
  EXPECT_EQ(map.find(a)->second.shared->offset, 8 * page_bytes);
  EXPECT_FALSE(map.find(a + 2 * page_bytes)->second.shared);
  EXPECT_EQ(map.find(a + 3 * page_bytes)->second.shared->offset, 11 * page_bytes);
  EXPECT_EQ(map.find(a + 3 * page_bytes)->second.shared->known_at, 3 * page_bytes);
  map.make_private(a, page_bytes);
  map.make_private(a + 3 * page_bytes, page_bytes);
  for (const auto& [start, region] : map.regions()) EXPECT_FALSE(region.shared) << start;
}

TEST(MemoryMap, FreeNeighboursBecomeOne) {
  MemoryMap map = fresh();
  const std::uint64_t a = map.allocate(3 * page_bytes);
  map.grown(map.memory_needed());
  map.release(a, page_bytes);
  map.release(a + 2 * page_bytes, page_bytes);
  map.release(a + page_bytes, page_bytes);
  EXPECT_EQ(map.allocate(3 * page_bytes), a);
}

TEST(MemoryMap, AnAllocationThatFailedToGrowIsTakenBack) {
  MemoryMap map = fresh();
  const std::uint64_t a = map.allocate(16 * page_bytes);
  EXPECT_EQ(map.memory_needed(), end + 16 * page_bytes);
  map.release(a, 16 * page_bytes);
  EXPECT_EQ(map.memory_needed(), end);
  EXPECT_EQ(map.allocate(page_bytes), end);
}

TEST(MemoryMap, ReleaseOfWhatIsNotMappedDoesNothing) {
  MemoryMap map = fresh();
  map.release(0, 1 << 20);
  EXPECT_EQ(map.memory_needed(), end);
  EXPECT_TRUE(map.regions().empty());
}

}  // namespace
}  // namespace cloche::kernel
