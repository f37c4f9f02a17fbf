// SPDX-License-Identifier: Apache-2.0
#include "base/hex.h"

#include <gtest/gtest.h>

#include <array>

namespace cloche {
namespace {

TEST(Hex, ThereAndBack) {
  const std::array<std::uint8_t, 4> bytes{0x00, 0x7f, 0xab, 0xff};
  EXPECT_EQ(to_hex(bytes), "007fabff");
  std::array<std::uint8_t, 4> back{};
  EXPECT_TRUE(from_hex("007FabfF", back));
  EXPECT_EQ(back, bytes);
  for (const char* text :
       {"", "007fabf", "007fabff0", "007fabfg", "0x7fabff", " 07fabff", "-07fabff"})
    EXPECT_FALSE(from_hex(text, back)) << text;
}

}  // namespace
}  // namespace cloche
