// SPDX-License-Identifier: Apache-2.0
#include "base/json_string.h"

#include <gtest/gtest.h>

namespace cloche {
namespace {

TEST(JsonString, EscapesWhatItMust) {
  EXPECT_EQ(json_string("a\"b\\c\n\r\t\b\f\x01\x1f/\x7f"), R"("a\"b\\c\n\r\t\b\f\u0001\u001f/)"
                                                           "\x7f\"");
  EXPECT_EQ(json_string(std::string_view("\0", 1)), R"("\u0000")");
  EXPECT_EQ(json_string("\xc3\xa9 \xf0\x9f\x98\x80"), "\"\xc3\xa9 \xf0\x9f\x98\x80\"");
  EXPECT_EQ(json_string("a\xff\x62\xe2\x82"), "\"a\xef\xbf\xbd\x62\xef\xbf\xbd\"");
}

TEST(JsonString, InPiecesIsTheSame) {
  const std::string text =
      "plain \"quoted\" \xc3\xa9\xff\xe2\x82\xac\xe2\x82 \x01\n\xf0\x9f\x98\x80 end\xf0\x9f";
  std::string whole = json_string(text);
  whole = whole.substr(1, whole.size() - 2);
  EXPECT_EQ(json_text_size(text), whole.size());
  for (std::size_t most = 1; most < text.size() + 2; ++most) {
    std::string pieces;
    for (std::size_t at = 0; at < text.size();) at = append_json_text(pieces, text, at, most);
    EXPECT_EQ(pieces, whole) << most;
  }
}

}  // namespace
}  // namespace cloche
