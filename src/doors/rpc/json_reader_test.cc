#include "doors/rpc/json_reader.h"

#include <gtest/gtest.h>

namespace cloche::rpc {
namespace {

int code_of(std::string_view text) {
  const auto read = read_json(text);
  const auto* error = std::get_if<RpcError>(&read);
  return error == nullptr ? 0 : error->code;
}

Json value_of(std::string_view text) {
  auto read = read_json(text);
  EXPECT_EQ(read.index(), 0U) << text;
  return read.index() == 0 ? std::get<Json>(read) : Json();
}

TEST(JsonReader, ReadsWhatTheLibraryReads) {
  for (const char* text :
       {R"({"a":[1,-2,3.5,true,false,null,"x\u00e9\ud83d\ude00"],"b":{"c":{}},"d":[]})", "[]", "{}",
        "7", "\"s\"", "null", "[[1],[2,[3]],{\"k\":[{}]}]", " {\"a\" : 1 } "}) {
    EXPECT_EQ(value_of(text), Json::parse(text)) << text;
  }
}

TEST(JsonReader, SaysWhatIsNotJson) {
  for (const char* text : {"", "{", "{\"a\":}", "[1,]", "nul", "{\"a\":1} x", "\"\xff\"",
                           "\"\\ud800\"", "\x01", "{\"a\" 1}", "1e999"}) {
    EXPECT_EQ(code_of(text), code::parse_error) << text;
  }
}

TEST(JsonReader, HasBounds) {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_EQ(code_of(nested(depth_limit)), 0);
  EXPECT_EQ(code_of(nested(depth_limit + 1)), code::invalid_request);
  EXPECT_EQ(code_of(std::string(10'000'000, '[')), code::invalid_request);
  std::string many = "[0";
  for (std::size_t i = 0; i < value_limit; ++i) many += ",0";
  EXPECT_EQ(code_of(many + "]"), code::invalid_request);
  EXPECT_EQ(code_of(R"({"a":1,"a":2})"), code::invalid_request);
  EXPECT_EQ(code_of(R"([{"a":{"b":1,"c":2,"b":3}}])"), code::invalid_request);
}

TEST(JsonReader, FindsTheIdOfWhatIsBeyondTheBounds) {
  const auto id_of = [](const std::string& text) {
    Json id = "untouched";
    EXPECT_EQ(std::get<RpcError>(read_json(text, &id)).code, code::invalid_request) << text;
    return id;
  };
  const std::string deep = std::string(depth_limit, '[') + std::string(depth_limit, ']');
  EXPECT_EQ(id_of(R"({"id":7,"params":)" + deep + "}"), 7);
  EXPECT_EQ(id_of(R"({"params":)" + deep + R"(,"more":{"id":1},"id":"x"})"), "x");
  EXPECT_EQ(id_of(R"({"a":{"b":1,"b":{"id":2}},"id":7})"), 7);
  EXPECT_EQ(id_of(R"({"id":7,"a":1,"a":[8]})"), 7);
  EXPECT_EQ(id_of(R"({"a":1,"a":1})"), nullptr);
  EXPECT_EQ(id_of(R"({"id":1,"id":2})"), 1);
  EXPECT_EQ(id_of(R"({"a":1,"id":7,"a":2})"), 7);
  EXPECT_EQ(id_of(R"({"params":)" + deep + R"(,"id":)"), nullptr);
  EXPECT_EQ(id_of("[" + deep + R"(,{"id":1}])"), nullptr);
  std::string many = R"({"params":[0)";
  for (std::size_t i = 0; i < value_limit; ++i) many += ",0";
  EXPECT_EQ(id_of(many + R"(],"id":9})"), 9);
}

TEST(JsonReader, NumbersOfAnySize) {
  EXPECT_EQ(value_of("18446744073709551615").get<std::uint64_t>(), UINT64_MAX);
  EXPECT_TRUE(value_of("184467440737095516150").is_number_float());
  EXPECT_EQ(value_of("-9223372036854775808").get<std::int64_t>(), INT64_MIN);
}

}  // namespace
}  // namespace cloche::rpc
