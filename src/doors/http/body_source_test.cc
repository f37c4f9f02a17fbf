// SPDX-License-Identifier: Apache-2.0
#include "doors/http/body_source.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>

namespace cloche::http {
namespace {

std::string body_of(const Response& response) {
  if (!response.source) return response.body;
  std::string whole;
  for (std::size_t before = 1; before != whole.size();) {
    before = whole.size();
    EXPECT_TRUE(response.source->next(whole));
    EXPECT_LT(whole.size() - before, 600U << 10);
  }
  EXPECT_EQ(whole.size(), response.source->size());
  return whole;
}

TEST(OutputResponse, IsTheSameInOnePieceAndInMany) {
  const std::string unit = "a\n\"\x01 \xc3\xa9\xff";
  const std::string shown = "a\\n\\\"\\u0001 \xc3\xa9\xef\xbf\xbd";
  for (const std::size_t times : {0U, 1U, 100'000U}) {
    std::string text;
    std::string escaped;
    for (std::size_t i = 0; i < times; ++i) {
      text += unit;
      escaped += shown;
    }
    const Response response = output_response(200, R"({"o":)", text, R"(,"e":)", "x", "}");
    EXPECT_EQ(response.source != nullptr, times > 1000);
    if (response.source) {
      EXPECT_LE(response.source->kept_bytes(), text.size() + 100);
    }
    EXPECT_EQ(body_of(response), R"({"o":")" + escaped + R"(","e":"x"})");
  }
}

// A file of so many bytes, of which the host can read the first `there`.
class Cut final : public PieceSource {
 public:
  Cut(std::uint64_t begin, std::uint64_t end, std::uint64_t there)
      : PieceSource(begin, end), there_(there) {}

 private:
  std::optional<std::string> read(std::uint64_t offset, std::size_t size_bytes) override {
    if (offset >= there_) return std::nullopt;
    const auto size = std::min<std::uint64_t>(size_bytes, there_ - offset);
    std::string piece;
    for (std::uint64_t at = offset; at < offset + size; ++at)
      piece += static_cast<char>('a' + at % 26);
    return piece;
  }

  const std::uint64_t there_;
};

TEST(PieceSource, GivesItsPartAndNothingElse) {
  Response response;
  response.source = std::make_shared<Cut>(1, 700'001, 700'001);
  const std::string body = body_of(response);
  EXPECT_EQ(body.size(), 700'000U);
  EXPECT_TRUE(body.starts_with("bcd"));
  response.source = std::make_shared<Cut>(5, 5, 5);
  EXPECT_EQ(body_of(response), "");
}

TEST(PieceSource, BreaksOffWhereSomethingIsMissing) {
  for (const std::uint64_t there : {300'000U, 0U}) {
    Cut source(0, 700'000, there);
    std::string body;
    while (source.next(body)) ASSERT_LT(body.size(), 700'000U);
    EXPECT_LE(body.size(), there);
  }
}

TEST(Quoted, HasNothingThatEndsAField) {
  EXPECT_EQ(quoted("a b"), "\"a b\"");
  EXPECT_EQ(quoted("\"\\\r\n\x7f"), "\"\\\"\\\\___\"");
}

}  // namespace
}  // namespace cloche::http
