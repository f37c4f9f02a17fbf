// SPDX-License-Identifier: Apache-2.0
#include "base/json_members.h"

#include <gmock/gmock.h>

#include "base/error.h"

namespace cloche {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::Pair;

// What `read` of the members of `text` is refused with; "" when it is not.
template <typename Read>
std::string refusal(std::string_view text, Read read) {
  const Json value = Json::parse(text);
  try {
    (void)read(JsonMembers(value, "limits."));
  } catch (const WrongMember& wrong) {
    return wrong.what();
  } catch (const Error& error) {
    return "Error: " + std::string(error.what());
  }
  return "";
}

std::string count_refusal(std::string_view text, Amounts range = {}) {
  return refusal(text, [&](const JsonMembers& m) { return m.optional_count("n", range); });
}
std::string ms_refusal(std::string_view text) {
  return refusal(text, [](const JsonMembers& m) { return m.optional_ms("n"); });
}
std::string bytes_refusal(std::string_view text, Amounts range = {}) {
  return refusal(text, [&](const JsonMembers& m) { return m.optional_bytes("n", range); });
}

TEST(JsonMembers, NullAndAbsentAreTheSame) {
  const Json none;
  for (const Json& value : {none, Json::object(), Json{{"n", nullptr}}}) {
    const JsonMembers members(value);
    EXPECT_EQ(members.find("n"), nullptr);
    EXPECT_EQ(members.optional_count("n"), std::nullopt);
    EXPECT_EQ(members.optional_bytes("n"), std::nullopt);
    EXPECT_EQ(members.optional_ms("n"), std::nullopt);
    EXPECT_EQ(members.optional_word("n"), std::nullopt);
    EXPECT_FALSE(members.flag("n"));
    EXPECT_TRUE(members.words("n").empty());
    EXPECT_TRUE(members.word_map("n").empty());
    EXPECT_TRUE(members.objects("n").empty());
    EXPECT_THROW((void)members.word("n"), WrongMember);
    EXPECT_THROW((void)members.text("n"), WrongMember);
    EXPECT_THROW((void)members.bytes("n"), WrongMember);
  }
}

TEST(JsonMembers, CountsAreRoundedUp) {
  const Json value = Json::parse(R"({"a":7,"b":1.25,"c":0,"d":18446744073709551615,"e":-0.0})");
  const JsonMembers members(value);
  EXPECT_EQ(members.optional_count("a"), 7U);
  EXPECT_EQ(members.optional_count("b"), 2U);
  EXPECT_EQ(members.optional_count("c"), 0U);
  EXPECT_EQ(members.optional_count("d"), UINT64_MAX);
  EXPECT_EQ(members.optional_count("e"), 0U);
}

TEST(JsonMembers, AnAmountOutOfRangeIsRefusedWithItsNameAndTheRange) {
  constexpr Amounts few{.least = 1, .most = 64};
  EXPECT_EQ(count_refusal(R"({"n":1})", few), "");
  EXPECT_EQ(count_refusal(R"({"n":64})", few), "");
  for (const char* text : {R"({"n":0})", R"({"n":65})", R"({"n":64.5})", R"({"n":-1})",
                           R"({"n":-0.5})", R"({"n":1e300})", R"({"n":-1e300})"}) {
    EXPECT_EQ(count_refusal(text, few), "'limits.n' must be a number from 1 to 64") << text;
  }
  EXPECT_EQ(count_refusal(R"({"n":18446744073709551616})"),
            "'limits.n' must be a number that is 0 or more, below 2^64");
  EXPECT_EQ(count_refusal(R"({"n":"7"})"), "'limits.n' must be a number");
  EXPECT_EQ(count_refusal(R"({"n":true})"), "'limits.n' must be a number");
}

TEST(JsonMembers, BytesAndTimesMayBeTexts) {
  const Json value = Json::parse(R"({"a":"512k","b":"1.5s","c":250,"d":"10d"})");
  const JsonMembers members(value);
  EXPECT_EQ(members.optional_bytes("a"), 512U << 10);
  EXPECT_EQ(members.optional_bytes("c"), 250U);
  EXPECT_EQ(members.optional_ms("b"), milliseconds(1500));
  EXPECT_EQ(members.optional_ms("c"), milliseconds(250));
  EXPECT_EQ(members.optional_ms("d"), milliseconds(864'000'000));
  EXPECT_EQ(bytes_refusal(R"({"n":"a lot"})"),
            "'limits.n' must be a number of bytes, or a text such as \"512m\"");
  EXPECT_EQ(ms_refusal(R"({"n":"soon"})"),
            "'limits.n' must be milliseconds, or a text such as \"30s\"");
}

TEST(JsonMembers, TextsHaveTheRangesOfNumbers) {
  constexpr Amounts small{.least = 0, .most = 1024};
  EXPECT_EQ(bytes_refusal(R"({"n":"1k"})", small), "");
  for (const char* text : {R"({"n":"2k"})", R"({"n":1025})"}) {
    EXPECT_EQ(bytes_refusal(text, small), "'limits.n' must be a number of bytes from 0 to 1024");
  }
  EXPECT_EQ(ms_refusal(R"({"n":315360000000})"), "");
  for (const char* text : {R"({"n":315360000001})", R"({"n":"3651d"})", R"({"n":1e30})"}) {
    EXPECT_EQ(ms_refusal(text),
              "'limits.n' must be a number of milliseconds from 0 to 315360000000")
        << text;
  }
}

TEST(JsonMembers, WordsHoldNoNul) {
  const char* nul = R"({"n":"a\u0000b","list":["a","b\u0000"],"map":{"k\u0000":"v"}})";
  EXPECT_THAT(refusal(nul, [](const JsonMembers& m) { return m.word("n"); }),
              ::testing::StartsWith("Error: 'limits.n' holds a NUL"));
  EXPECT_THAT(refusal(nul, [](const JsonMembers& m) { return m.words("list"); }),
              ::testing::StartsWith("Error: 'limits.list' holds a NUL"));
  EXPECT_THAT(refusal(nul, [](const JsonMembers& m) { return m.word_map("map"); }),
              ::testing::HasSubstr("without NUL"));
  EXPECT_EQ(refusal(nul, [](const JsonMembers& m) { return m.text("n"); }), "");
}

TEST(JsonMembers, WhatIsOfAnotherTypeWithinIsSaidOfTheWhole) {
  const char* mixed = R"({"list":["a",1],"map":{"k":1}})";
  EXPECT_THAT(refusal(mixed, [](const JsonMembers& m) { return m.words("list"); }),
              ::testing::HasSubstr("'limits.list' must be an array of strings"));
  EXPECT_THAT(refusal(mixed, [](const JsonMembers& m) { return m.word_map("map"); }),
              ::testing::HasSubstr("'limits.map' must be an object of strings"));
}

TEST(JsonMembers, ListsAndObjectsAreReadWhole) {
  const Json value = Json::parse(
      R"({"w":["a","b"],"m":{"k":"v"},"o":[{"x":1}],"f":true,"b":"aGk=","mixed":["a",1]})");
  const JsonMembers members(value);
  EXPECT_THAT(members.words("w"), ElementsAre("a", "b"));
  EXPECT_THAT(members.word_map("m"), ElementsAre(Pair("k", "v")));
  EXPECT_EQ(members.objects("o").size(), 1U);
  EXPECT_TRUE(members.flag("f"));
  EXPECT_EQ(members.bytes("b"), "hi");
  EXPECT_THROW((void)members.words("mixed"), WrongMember);
  EXPECT_THROW((void)members.words("m"), WrongMember);
  EXPECT_THROW((void)members.word_map("w"), WrongMember);
  EXPECT_THROW((void)members.objects("w"), WrongMember);
  EXPECT_THROW((void)members.flag("w"), WrongMember);
  EXPECT_THROW((void)members.bytes("w"), WrongMember);
  const Json broken = Json::parse(R"({"b":"a"})");
  EXPECT_THROW((void)JsonMembers(broken).bytes("b"), WrongMember);
}

}  // namespace
}  // namespace cloche
