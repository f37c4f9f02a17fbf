// SPDX-License-Identifier: Apache-2.0
#include "wasm/guest_memory.h"

#include <gtest/gtest.h>

#include <array>

namespace cloche::wasm {
namespace {

class GuestMemoryTest : public testing::Test {
 protected:
  std::array<std::byte, 64> bytes{};
  GuestMemory memory{bytes.data(), bytes.size()};
};

TEST_F(GuestMemoryTest, ReadsAndWritesAtAnyAlignment) {
  ASSERT_TRUE(memory.write<std::uint32_t>(3, 0x01020304));
  EXPECT_EQ(*memory.read<std::uint32_t>(3), 0x01020304U);
  EXPECT_EQ(*memory.read<std::uint8_t>(3), 4);
  EXPECT_TRUE(memory.write<std::uint32_t>(60, 1));
}

TEST_F(GuestMemoryTest, RefusesWhatIsOutOfRange) {
  EXPECT_EQ(memory.read<std::uint32_t>(61).error(), Errno::fault);
  EXPECT_EQ(memory.write<std::uint64_t>(57, 1).error(), Errno::fault);
  EXPECT_EQ(memory.read<std::uint32_t>(0xffffffff).error(), Errno::fault);
  EXPECT_EQ(memory.slice(0, 65).error(), Errno::fault);
  EXPECT_EQ(memory.slice(1, 0xffffffffffffffff).error(), Errno::fault);
  EXPECT_EQ(memory.slice(0xffffffff, 2).error(), Errno::fault);
  EXPECT_EQ(memory.slice(64, 64).error(), Errno::fault);
  EXPECT_EQ(memory.slice(0, 64)->size(), 64U);
}

TEST_F(GuestMemoryTest, AnEmptySliceIsFineAnywhere) {
  EXPECT_TRUE(memory.slice(64, 0)->empty());
  EXPECT_TRUE(memory.slice(0xffffffff, 0)->empty());
  EXPECT_TRUE(memory.copy_out(0xffffffff, std::string_view()));
}

TEST_F(GuestMemoryTest, AFailedCopyTouchesNothing) {
  const std::array<std::byte, 8> ones{std::byte{1}, std::byte{1}};
  EXPECT_EQ(memory.copy_out(60, ones).error(), Errno::fault);
  EXPECT_EQ(bytes[60], std::byte{0});
}

TEST_F(GuestMemoryTest, StringsEndAtTheirNul) {
  ASSERT_TRUE(memory.copy_out(1, "hello"));
  EXPECT_EQ(*memory.read_string(1, 100), "hello");
  EXPECT_EQ(*memory.read_string(1, 5), "hello");
  EXPECT_EQ(memory.read_string(1, 4).error(), Errno::nametoolong);
  EXPECT_EQ(*memory.read_string(6, 0), "");
}

TEST_F(GuestMemoryTest, AStringWithoutNulIsAFault) {
  bytes.fill(std::byte{'x'});
  EXPECT_EQ(memory.read_string(0, 4096).error(), Errno::fault);
  EXPECT_EQ(memory.read_string(0, 64).error(), Errno::fault);
  EXPECT_EQ(memory.read_string(0, 63).error(), Errno::nametoolong);
  EXPECT_EQ(memory.read_string(64, 10).error(), Errno::fault);
  EXPECT_EQ(memory.read_string(0, ~std::uint64_t{0}).error(), Errno::fault);
}

TEST_F(GuestMemoryTest, ArraysAreBoundedBeforeTheyAreAllocated) {
  ASSERT_TRUE(memory.write_array<std::uint32_t>(4, std::array<std::uint32_t, 2>{7, 8}));
  EXPECT_EQ(*memory.read_array<std::uint32_t>(4, 2, 10), (std::vector<std::uint32_t>{7, 8}));
  EXPECT_EQ(memory.read_array<std::uint64_t>(0, 1U << 31, 1U << 30).error(), Errno::inval);
  EXPECT_EQ(memory.read_array<std::uint64_t>(0, 1ULL << 61, ~0ULL).error(), Errno::fault);
  EXPECT_EQ(memory.read_array<std::uint64_t>(0, 9, 100).error(), Errno::fault);
  EXPECT_TRUE(memory.read_array<std::uint64_t>(0xffffffff, 0, 100)->empty());
}

}  // namespace
}  // namespace cloche::wasm
