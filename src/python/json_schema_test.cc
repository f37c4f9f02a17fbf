// SPDX-License-Identifier: Apache-2.0
#include "python/json_schema.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace cloche::python {
namespace {

std::string problem(std::string_view schema, std::string_view value) {
  return JsonSchema(schema).problem(*read_json(value));
}

TEST(json_schema, says_what_is_wrong) {
  EXPECT_EQ(problem("", "[1]"), "");
  EXPECT_EQ(problem(R"({"type": "integer"})", "1.0"), "");
  EXPECT_EQ(problem(R"({"type": "integer"})", "1.5"), "1.5 is not of type integer");
  EXPECT_EQ(problem(R"({"type": ["string", "null"]})", "1"), "1 is not of type string or null");
  EXPECT_EQ(problem(R"({"enum": ["a", "b"]})", R"("c")"), R"("c" is not one of ["a","b"])");
  EXPECT_EQ(problem(R"({"required": ["a"]})", "{}"), "the argument 'a' is missing");
  EXPECT_EQ(problem(R"({"additionalProperties": false})", R"({"a": 1})"),
            "there is no argument 'a'");
  EXPECT_EQ(
      problem(R"({"properties": {"a": {"items": {"type": "string"}}}})", R"({"a": ["x", 2]})"),
      "a[1]: 2 is not of type string");
  EXPECT_EQ(problem(R"({"minLength": 2})", R"("é")"), "has 1 characters, fewer than 2");
  EXPECT_EQ(problem(R"({"maximum": 3})", "4"), "4 is more than 3");
  EXPECT_EQ(problem(R"({"multipleOf": 0.1})", "0.3"), "");
  EXPECT_EQ(problem(R"({"uniqueItems": true})", "[1, 2, 1]"), "1 is there twice");
  EXPECT_EQ(problem(R"({"anyOf": [{"type": "string"}, {"type": "null"}]})", "null"), "");
  EXPECT_NE(problem(R"({"oneOf": [{}, {}]})", "1"), "");
  EXPECT_NE(problem(R"({"not": {"const": 1}})", "1"), "");
  EXPECT_EQ(
      problem(R"({"$defs": {"n": {"type": "number"}}, "properties": {"a": {"$ref": "#/$defs/n"}}})",
              R"({"a": "x"})"),
      R"(a: "x" is not of type number)");
}

TEST(json_schema, has_an_end) {
  EXPECT_NE(problem(R"({"$ref": "#"})", "1"), "");
  std::string all = R"({"allOf": [{"$ref": "#"}, {"$ref": "#"}]})";
  EXPECT_NE(problem(all, "1"), "");
}

TEST(json_schema, refuses_what_is_none) {
  EXPECT_THROW(JsonSchema("[]"), Error);
  EXPECT_THROW(JsonSchema("{"), Error);
}

TEST(json_text, depth_is_bounded) {
  EXPECT_TRUE(read_json(std::string(200, '[') + std::string(200, ']')));
  EXPECT_FALSE(read_json(std::string(100'000, '[')));
  EXPECT_FALSE(read_json(std::string(201, '[') + std::string(201, ']')));
  EXPECT_TRUE(read_json(R"("[[[[\"")"));
}

}  // namespace
}  // namespace cloche::python
