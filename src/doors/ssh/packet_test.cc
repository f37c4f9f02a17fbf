// SPDX-License-Identifier: Apache-2.0
#include "doors/ssh/packet.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace cloche::ssh {
namespace {

using namespace std::string_view_literals;

TEST(Packet, NumbersAreBigEndian) {
  PacketWriter out;
  out.byte(0x7f).u32(0x01020304).u64(0x1122334455667788);
  EXPECT_EQ(out.bytes(), "\x7f\x01\x02\x03\x04\x11\x22\x33\x44\x55\x66\x77\x88"sv);
}

TEST(Packet, AStringHasItsLengthBeforeIt) {
  EXPECT_EQ(PacketWriter().string("abc").bytes(), "\0\0\0\3abc"sv);
  EXPECT_EQ(PacketWriter().string("").bytes(), "\0\0\0\0"sv);
  EXPECT_EQ(PacketWriter().raw("abc").bytes(), "abc");
}

TEST(Packet, WhatIsWrittenIsRead) {
  const std::string every_byte = [] {
    std::string bytes;
    for (int c = 0; c < 256; ++c) bytes += static_cast<char>(c);
    return bytes;
  }();
  PacketWriter out;
  out.byte(0xff).u32(UINT32_MAX).u64(UINT64_MAX).string(every_byte).string("").u32(7);
  PacketReader in(out.bytes());
  EXPECT_EQ(in.byte(), 0xff);
  EXPECT_EQ(in.u32(), UINT32_MAX);
  EXPECT_EQ(in.u64(), UINT64_MAX);
  EXPECT_EQ(in.string(), every_byte);
  EXPECT_EQ(in.string(), "");
  EXPECT_EQ(in.u32(), 7u);
  EXPECT_TRUE(in.good());
}

// A client may end its packet anywhere.
TEST(Packet, EveryPrefixIsZerosFromWhereItEnds) {
  PacketWriter out;
  out.byte(1).u32(2).u64(3).string("four");
  const std::string& whole = out.bytes();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    PacketReader in(std::string_view(whole).substr(0, size));
    EXPECT_EQ(in.byte(), size >= 1 ? 1 : 0) << size;
    EXPECT_EQ(in.u32(), size >= 5 ? 2u : 0u) << size;
    EXPECT_EQ(in.u64(), size >= 13 ? 3u : 0u) << size;
    EXPECT_EQ(in.string(), "") << size;
    EXPECT_FALSE(in.good()) << size;
  }
}

TEST(Packet, NothingIsReadAfterWhatWasNotThere) {
  PacketReader in(
      "\xff\xff\xff\xff"
      "abcdefgh"sv);
  EXPECT_EQ(in.string(), "") << "a string longer than the packet";
  EXPECT_FALSE(in.good());
  EXPECT_EQ(in.byte(), 0);
  EXPECT_EQ(in.u64(), 0u);
  EXPECT_EQ(in.string(), "");
  EXPECT_FALSE(in.good());
}

}  // namespace
}  // namespace cloche::ssh
