// SPDX-License-Identifier: Apache-2.0
#include "doors/rpc/json_reader.h"

#include <gtest/gtest.h>

namespace cloche::rpc {
namespace {

TEST(JsonReader, GivesTheErrorsOfTheDoor) {
  const auto code_of = [](std::string_view text) {
    const auto read = read_json(text);
    const auto* error = std::get_if<RpcError>(&read);
    return error == nullptr ? 0 : error->code;
  };
  EXPECT_EQ(code_of(R"({"id":1})"), 0);
  EXPECT_EQ(code_of("{"), code::parse_error);
  EXPECT_EQ(code_of(R"({"a":1,"a":2})"), code::invalid_request);
  EXPECT_EQ(code_of(std::string(depth_limit + 1, '[')), code::invalid_request);
}

TEST(JsonReader, FindsTheIdOfWhatIsBeyondTheBounds) {
  Json id;
  (void)read_json(R"({"a":1,"a":2,"id":7})", &id);
  EXPECT_EQ(id, 7);
}

}  // namespace
}  // namespace cloche::rpc
