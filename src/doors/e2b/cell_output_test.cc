// SPDX-License-Identifier: Apache-2.0
#include "doors/e2b/cell_output.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace cloche::e2b {
namespace {

struct Heard {
  std::string text;
  std::vector<std::string> records;
  CellOutput::Reader reader() {
    return {[this](std::string more) { text += more; },
            [this](std::string_view record) { records.emplace_back(record); }};
  }
};

// The same however it is divided.
Heard hear(const std::string& bytes, std::size_t piece) {
  Heard heard;
  CellOutput output("mark");
  for (std::size_t at = 0; at < bytes.size(); at += piece)
    output.take(std::string_view(bytes).substr(at, piece), heard.reader());
  output.finish(heard.reader());
  return heard;
}

TEST(CellOutput, RecordsComeOutOfTheTextHoweverItIsDivided) {
  const std::string bytes = "a\x1emark{\"b\":1}\nc\n\x1e\x1emar\x1emark{}\nd\x1emar";
  for (std::size_t piece = 1; piece <= bytes.size(); ++piece) {
    const Heard heard = hear(bytes, piece);
    EXPECT_EQ(heard.text, "ac\n\x1e\x1emard\x1emar") << piece;
    EXPECT_EQ(heard.records, (std::vector<std::string>{"{\"b\":1}", "{}"})) << piece;
  }
}

TEST(CellOutput, CharactersAreWhole) {
  const std::string bytes = "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80";
  for (std::size_t piece = 1; piece <= bytes.size(); ++piece)
    EXPECT_EQ(hear(bytes, piece).text, bytes) << piece;
  EXPECT_EQ(hear("a\xff\xc3", 1).text, "a\xef\xbf\xbd\xef\xbf\xbd");
}

TEST(CellOutput, OfARecordThatIsTooLongNothingIsLeft) {
  Heard heard;
  CellOutput output("mark");
  output.take("\x1emark", heard.reader());
  const std::string much(1 << 20, 'x');
  for (int i = 0; i < 9; ++i) output.take(much, heard.reader());
  output.take("\nafter\x1emark{}\n", heard.reader());
  EXPECT_EQ(heard.text, "after");
  EXPECT_EQ(heard.records, (std::vector<std::string>{"", "{}"}));
}

TEST(CellOutput, WhatHasNoEndIsNoRecord) {
  EXPECT_TRUE(hear("\x1emark{\"type\"", 1).records.empty());
}

}  // namespace
}  // namespace cloche::e2b
