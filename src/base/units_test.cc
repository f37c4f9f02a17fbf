// SPDX-License-Identifier: Apache-2.0
#include "base/units.h"

#include <gtest/gtest.h>

namespace cloche {
namespace {

using std::chrono::milliseconds;

TEST(Units, BytesInPowersOf1024) {
  EXPECT_EQ(parse_bytes("0"), 0u);
  EXPECT_EQ(parse_bytes("1048576"), 1u << 20);
  for (const char* text : {"512k", "512K", "512KB", "512KiB", "512kib"})
    EXPECT_EQ(parse_bytes(text), 512u << 10) << text;
  EXPECT_EQ(parse_bytes("512m"), 512u << 20);
  EXPECT_EQ(parse_bytes("2G"), std::uint64_t{2} << 30);
  EXPECT_EQ(parse_bytes("3T"), std::uint64_t{3} << 40);
  EXPECT_EQ(parse_bytes("18446744073709551615"), UINT64_MAX);
}

TEST(Units, OtherTextsAreNoBytes) {
  for (const char* text : {"", " 1", "1 ", "-1", "+1", "M", "1.5M", "1MM", "1X", "0x10", "1i",
                           "18446744073709551616", "18014398509481984K", "1e3"})
    EXPECT_EQ(parse_bytes(text), std::nullopt) << text;
}

TEST(Units, DurationsWithAndWithoutAUnit) {
  EXPECT_EQ(parse_duration("1500", milliseconds(1)), milliseconds(1500));
  EXPECT_EQ(parse_duration("30", milliseconds(1000)), milliseconds(30'000));
  EXPECT_EQ(parse_duration("250ms", milliseconds(1000)), milliseconds(250));
  EXPECT_EQ(parse_duration("1.5s", milliseconds(1)), milliseconds(1500));
  EXPECT_EQ(parse_duration("2m", milliseconds(1)), milliseconds(120'000));
  EXPECT_EQ(parse_duration("1h", milliseconds(1)), milliseconds(3'600'000));
  EXPECT_EQ(parse_duration("7d", milliseconds(1)), milliseconds(604'800'000));
  EXPECT_EQ(parse_duration("0", milliseconds(1)), milliseconds(0));
}

TEST(Units, OtherTextsAreNoDurations) {
  for (const char* text :
       {"", "-1", "s", "1 s", "1S", "1min", "nan", "inf", "1e400", "999999d", "1e30", "0x1"})
    EXPECT_EQ(parse_duration(text, milliseconds(1000)), std::nullopt) << text;
}

}  // namespace
}  // namespace cloche
