// SPDX-License-Identifier: Apache-2.0
#include "base/random.h"

#include <gtest/gtest.h>

#include "base/hex.h"

namespace cloche {
namespace {

TEST(Hex, TwoDigitsAByte) {
  EXPECT_EQ(to_hex({}), "");
  EXPECT_EQ(to_hex(std::array<std::uint8_t, 4>{0, 0x0f, 0xa0, 0xff}), "000fa0ff");
}

TEST(Random, UuidsHaveTheirVersionAndVariant) {
  std::array<std::uint8_t, 16> bytes{};
  EXPECT_EQ(uuid_of(bytes), "00000000-0000-4000-8000-000000000000");
  bytes.fill(0xff);
  EXPECT_EQ(uuid_of(bytes), "ffffffff-ffff-4fff-bfff-ffffffffffff");
  EXPECT_NE(random_uuid(), random_uuid());
}

TEST(Random, HexOfAsManyBytes) {
  EXPECT_EQ(random_hex(0), "");
  EXPECT_EQ(random_hex(24).size(), 48U);
  EXPECT_NE(random_hex(24), random_hex(24));
}

}  // namespace
}  // namespace cloche
