// SPDX-License-Identifier: Apache-2.0
#include "base/utf8.h"

#include <gtest/gtest.h>

namespace cloche {
namespace {

TEST(Utf8, KnowsWhatIsText) {
  for (const std::string_view text :
       {std::string_view(""), std::string_view("a"), std::string_view("0123456789abcdef\xc3\xa9"),
        std::string_view("\xf4\x8f\xbf\xbf"), std::string_view("a\0b", 3)}) {
    EXPECT_TRUE(is_utf8(text)) << text;
    EXPECT_EQ(valid_utf8(text), text);
  }
  for (const std::string_view text :
       {"\xff", "0123456\xc3", "\xed\xa0\x80", "\xc0\x80", "\xf4\x90\x80\x80", "\x80"})
    EXPECT_FALSE(is_utf8(text)) << text;
}

// As bytes.decode("utf-8", "replace") of Python does it.
TEST(Utf8, ReplacesAsPythonDoes) {
  EXPECT_EQ(valid_utf8("a\xff\x62"), "a\xef\xbf\xbd\x62");
  EXPECT_EQ(valid_utf8("\xe2\x82"), "\xef\xbf\xbd");
  EXPECT_EQ(valid_utf8("\xe2\x82(\xf0\x9f"), "\xef\xbf\xbd(\xef\xbf\xbd");
  EXPECT_EQ(valid_utf8("\xed\xa0\x80"), "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
}

TEST(Utf8, FindsTheEndOfAscii) {
  for (std::size_t size = 0; size < 20; ++size) {
    const std::string text = std::string(size, 'x') + "\xc3\xa9xxxxxxxxxxxxxxxx";
    for (std::size_t at = 0; at <= size; ++at) EXPECT_EQ(ascii_run(text, at), size - at);
  }
}

}  // namespace
}  // namespace cloche
