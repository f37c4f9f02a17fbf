// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <optional>

namespace cloche {
namespace {

constexpr JsonBounds bounds;
constexpr JsonBounds last_wins{.repeated = RepeatedNames::last_wins};

template <typename Value>
class JsonReading : public ::testing::Test {
 protected:
  static Value value_of(std::string_view text, const JsonBounds& with = bounds) {
    auto read = read_json<Value>(text, with);
    EXPECT_EQ(read.index(), 0U) << text;
    return read.index() == 0 ? std::get<Value>(read) : Value();
  }
  static std::optional<JsonProblem::Kind> problem_of(std::string_view text) {
    const auto read = read_json<Value>(text, bounds);
    const auto* problem = std::get_if<JsonProblem>(&read);
    return problem == nullptr ? std::nullopt : std::optional(problem->kind);
  }
  static Value id_of(const std::string& text) {
    Value id = "untouched";
    const auto read = read_json<Value>(text, bounds, "id", &id);
    EXPECT_EQ(std::get<JsonProblem>(read).kind, JsonProblem::Kind::beyond_bounds) << text;
    return id;
  }
};
using Values = ::testing::Types<Json, OrderedJson>;
TYPED_TEST_SUITE(JsonReading, Values);

TYPED_TEST(JsonReading, ReadsWhatTheLibraryReads) {
  for (const char* text :
       {R"({"a":[1,-2,3.5,true,false,null,"x\u00e9\ud83d\ude00"],"b":{"c":{}},"d":[]})", "[]", "{}",
        "7", "\"s\"", "null", "[[1],[2,[3]],{\"k\":[{}]}]", " {\"a\" : 1 } ",
        R"({"9":1,"8":2,"7":3,"6":4,"5":5,"4":6,"3":7,"2":8,"1":9,"0":{"z":1,"a":2}})"}) {
    EXPECT_EQ(this->value_of(text), TypeParam::parse(text)) << text;
    EXPECT_EQ(write_json(this->value_of(text)), TypeParam::parse(text).dump()) << text;
  }
}

TYPED_TEST(JsonReading, SaysWhatIsNotJson) {
  for (const char* text : {"", "{", "{\"a\":}", "[1,]", "nul", "{\"a\":1} x", "\"\xff\"",
                           "\"\\ud800\"", "\x01", "{\"a\" 1}", "1e999"}) {
    EXPECT_EQ(this->problem_of(text), JsonProblem::Kind::not_json) << text;
  }
  // What is wrong is said in some words, however long the text is that is wrong.
  const auto read = read_json<TypeParam>(std::string(1 << 20, '1') + "x", bounds);
  EXPECT_LT(std::get<JsonProblem>(read).sentence.size(), 500U);
}

TYPED_TEST(JsonReading, HasBounds) {
  constexpr auto beyond = JsonProblem::Kind::beyond_bounds;
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_EQ(this->problem_of(nested(bounds.depth)), std::nullopt);
  EXPECT_EQ(this->problem_of(nested(bounds.depth + 1)), beyond);
  EXPECT_EQ(this->problem_of(std::string(10'000'000, '[')), beyond);
  std::string many = "[0";
  for (std::size_t i = 0; i < bounds.values; ++i) many += ",0";
  EXPECT_EQ(this->problem_of(many + "]"), beyond);
  EXPECT_EQ(this->problem_of(R"({"a":1,"a":2})"), beyond);
  EXPECT_EQ(this->problem_of(R"([{"a":{"b":1,"c":2,"b":3}}])"), beyond);
}

TYPED_TEST(JsonReading, TheLastOfEqualNamesWinsWhereThatIsWanted) {
  EXPECT_EQ(write_json(this->value_of(R"({"a":{"x":1},"b":2,"a":[3],"a":{"y":{}}})", last_wins)),
            R"({"a":{"y":{}},"b":2})");
  std::string many = "{";
  for (int i = 0; i < 100; ++i)
    many += R"("k)" + std::to_string(i % 10) + R"(":)" + std::to_string(i) + ",";
  const TypeParam value = this->value_of(many + R"("z":0})", last_wins);
  EXPECT_EQ(value.size(), 11U);
  EXPECT_EQ(value["k3"], 93);
}

TYPED_TEST(JsonReading, FindsAMemberOfWhatIsBeyondTheBounds) {
  const auto id_of = [this](const std::string& text) { return this->id_of(text); };
  const std::string deep = std::string(bounds.depth, '[') + std::string(bounds.depth, ']');
  EXPECT_EQ(id_of(R"({"id":7,"params":)" + deep + "}"), 7);
  EXPECT_EQ(id_of(R"({"params":)" + deep + R"(,"more":{"id":1},"id":"x"})"), "x");
  EXPECT_EQ(id_of(R"({"a":{"b":1,"b":{"id":2}},"id":7})"), 7);
  EXPECT_EQ(id_of(R"({"id":7,"a":1,"a":[8]})"), 7);
  EXPECT_EQ(id_of(R"({"a":1,"a":1})"), nullptr);
  EXPECT_EQ(id_of(R"({"a":1,"id":7,"a":2})"), 7);
  EXPECT_EQ(id_of(R"({"id":[1],"a":1,"a":2})"), nullptr);
  EXPECT_EQ(id_of("[" + deep + R"(,{"id":1}])"), nullptr);
  std::string many = R"({"params":[0)";
  for (std::size_t i = 0; i < bounds.values; ++i) many += ",0";
  EXPECT_EQ(id_of(many + R"(],"id":9})"), 9);
}

TYPED_TEST(JsonReading, NumbersOfAnySize) {
  EXPECT_EQ(this->value_of("18446744073709551615").template get<std::uint64_t>(), UINT64_MAX);
  EXPECT_TRUE(this->value_of("184467440737095516150").is_number_float());
  EXPECT_EQ(this->value_of("-9223372036854775808").template get<std::int64_t>(), INT64_MIN);
}

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// CPU time for N names against that for N / 8: 8 times, and not 64.
TYPED_TEST(JsonReading, ManyNamesTakeTimeInProportion) {
  const auto seconds_for = [](int count) {
    std::string text = "{";
    for (int i = 0; i < count; ++i)
      text += fmt::format("\"n{:08}\":0,", (i * 7919LL) % 100'000'007);
    text += R"("last":0})";
    double best = 1e9;
    for (int turn = 0; turn < 3; ++turn) {
      const double start = cpu_seconds();
      EXPECT_EQ((read_json<TypeParam>(text, last_wins).index()), 0U);
      best = std::min(best, cpu_seconds() - start);
    }
    return best;
  };
  EXPECT_LT(seconds_for(160'000), 40 * seconds_for(20'000));
}

}  // namespace
}  // namespace cloche
