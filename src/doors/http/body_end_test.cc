// SPDX-License-Identifier: Apache-2.0
#include "doors/http/body_end.h"

#include <gtest/gtest.h>

#include <string>

namespace cloche::http {
namespace {

// How much of the text is the body, in one piece and byte by byte; -1: it is broken, -2: not over.
int body_bytes(BodyEnd whole, std::string_view text) {
  BodyEnd pieces = whole;
  const std::size_t taken = whole.take(text);
  std::size_t in_pieces = 0;
  for (const char& c : text) in_pieces += pieces.take({&c, 1});
  EXPECT_EQ(taken, in_pieces) << text;
  EXPECT_EQ(whole.is_done(), pieces.is_done()) << text;
  EXPECT_EQ(whole.is_broken(), pieces.is_broken()) << text;
  if (whole.is_broken()) return -1;
  return whole.is_done() ? static_cast<int>(taken) : -2;
}

TEST(BodyEnd, ByLength) {
  EXPECT_TRUE(BodyEnd::after(0).is_done());
  EXPECT_EQ(body_bytes(BodyEnd::after(3), "abcGET /"), 3);
  EXPECT_EQ(body_bytes(BodyEnd::after(3), "ab"), -2);
  EXPECT_EQ(body_bytes(BodyEnd::after(UINT64_MAX), "ab"), -2);
}

TEST(BodyEnd, ByChunks) {
  const auto chunks = [](std::string_view text) { return body_bytes(BodyEnd::of_chunks(), text); };
  EXPECT_EQ(chunks("0\r\n\r\nGET"), 5);
  EXPECT_EQ(chunks("3\r\nabc\r\n0\r\n\r\n"), 13);
  EXPECT_EQ(chunks("A;name=value\r\n0123456789\r\n00\r\nName: value\r\nOther: x\r\n\r\nmore"), 55);
  EXPECT_EQ(chunks("3\r\nabc\r\n"), -2);
  EXPECT_EQ(chunks("0\r\nName: value\r\n"), -2);
  for (const char* broken :
       {"\r\n", "g\r\n", "-1\r\n", " 3\r\n", "3 \r\n", "3\nabc", "3\r\nabcd", "3\r\nabc\n",
        "0\r\n\n", "0\r\nName\n", ";x\r\n", "1000000000000000\r\n", "3;\n", "0\r\rx"})
    EXPECT_EQ(chunks(broken), -1) << broken;
}

TEST(BodyEnd, LinesAreBounded) {
  EXPECT_EQ(body_bytes(BodyEnd::of_chunks(), "1;" + std::string(300, 'x')), -1);
  EXPECT_EQ(body_bytes(BodyEnd::of_chunks(), "0\r\n" + std::string(9000, 'x')), -1);
}

}  // namespace
}  // namespace cloche::http
