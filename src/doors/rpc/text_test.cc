// SPDX-License-Identifier: Apache-2.0
#include "doors/rpc/text.h"

#include <gtest/gtest.h>

namespace cloche::rpc {
namespace {

TEST(Utf8Cutter, SplitsNoCharacter) {
  const std::string text = "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80z";
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    Utf8Cutter cutter;
    const std::string first = cutter.take(text.substr(0, cut));
    EXPECT_TRUE(first.empty() || (static_cast<unsigned char>(text[first.size()]) & 0xc0) != 0x80);
    const std::string second = cutter.take(text.substr(cut));
    EXPECT_EQ(first + second + cutter.rest(), text) << cut;
    EXPECT_EQ(cutter.rest(), "");
  }
}

TEST(Utf8Cutter, KeepsBytesThatAreNoText) {
  const std::string bytes = "\xff\x80\x80\x80\x80\xc3(\xe2\x82\xf5\xf0";
  std::string all;
  Utf8Cutter cutter;
  for (const char byte : bytes) all += cutter.take({&byte, 1});
  EXPECT_EQ(all + cutter.rest(), bytes);
}

}  // namespace
}  // namespace cloche::rpc
