// SPDX-License-Identifier: Apache-2.0
#include "base/json_lookup.h"

#include <gtest/gtest.h>

namespace cloche {
namespace {

template <typename Value>
class JsonLookup : public testing::Test {};
using Values = testing::Types<Json, OrderedJson>;
TYPED_TEST_SUITE(JsonLookup, Values);

TYPED_TEST(JsonLookup, FindsMembersOfObjects) {
  const TypeParam object{{"name", "a"}, {"size", 3}, {"none", nullptr}};
  ASSERT_NE(find_member(object, "size"), nullptr);
  EXPECT_EQ(*find_member(object, "size"), 3);
  EXPECT_TRUE(find_member(object, "none")->is_null());
  EXPECT_EQ(member_or_null(object, "size"), 3);
  EXPECT_EQ(*find_text(object, "name"), "a");
  EXPECT_EQ(text_in(object, "name"), "a");
}

TYPED_TEST(JsonLookup, WhatIsMissingOrOfAnotherTypeIsNone) {
  const TypeParam object{{"size", 3}, {"none", nullptr}};
  EXPECT_EQ(find_member(object, "name"), nullptr);
  EXPECT_EQ(find_text(object, "size"), nullptr);
  EXPECT_EQ(find_text(object, "none"), nullptr);
  EXPECT_EQ(text_in(object, "name"), "");
  EXPECT_TRUE(member_or_null(object, "name").is_null());
  for (const TypeParam& other :
       {TypeParam(), TypeParam(3), TypeParam("name"), TypeParam::array()}) {
    EXPECT_EQ(find_member(other, "name"), nullptr);
    EXPECT_TRUE(member_or_null(other, "name").is_null());
    EXPECT_EQ(text_in(other, "name"), "");
  }
}

TEST(ParseJson, GivesTheValueOrNothing) {
  EXPECT_EQ(parse_json(R"({"a": 1, "a": 2})"), Json({{"a", 2}}));
  EXPECT_EQ(parse_json("{"), std::nullopt);
  EXPECT_EQ(parse_json("[\"\xff\"]"), std::nullopt);
  EXPECT_EQ(parse_json(std::string(65, '[') + std::string(65, ']')), std::nullopt);
  EXPECT_NE(parse_json(std::string(64, '[') + std::string(64, ']')), std::nullopt);
}

}  // namespace
}  // namespace cloche
