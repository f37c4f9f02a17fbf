// SPDX-License-Identifier: Apache-2.0
#include "doors/http/body_source.h"

#include <gtest/gtest.h>

#include <memory>

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

}  // namespace
}  // namespace cloche::http
