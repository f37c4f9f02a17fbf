// SPDX-License-Identifier: Apache-2.0
// What FastAPI and pydantic answer to malformed steps, byte for byte: these answers were taken from
// the Python package `session-based-sandbox` 0.1.0.
#include "doors/steps/step_request.h"

#include <gtest/gtest.h>

#include <array>

#include "doors/steps/python_json.h"

namespace cloche::steps {
namespace {

struct Case {
  const char* body;
  const char* answer;
};

constexpr std::
    array
        cases{
            Case{
                R"~({)~",
                R"~({"detail":[{"type":"json_invalid","loc":["body",1],"msg":"JSON decode error","input":{},"ctx":{"error":"Expecting property name enclosed in double quotes"}}]})~"},
            Case{
                R"~([)~",
                R"~({"detail":[{"type":"json_invalid","loc":["body",1],"msg":"JSON decode error","input":{},"ctx":{"error":"Expecting value"}}]})~"},
            Case{
                R"~({})~",
                R"~({"detail":[{"type":"union_tag_not_found","loc":["body"],"msg":"Unable to extract tag using discriminator 'type'","input":{},"ctx":{"discriminator":"'type'"}}]})~"},
            Case{
                R"~([])~",
                R"~({"detail":[{"type":"model_attributes_type","loc":["body"],"msg":"Input should be a valid dictionary or object to extract fields from","input":[]}]})~"},
            Case{
                R"~(null)~",
                R"~({"detail":[{"type":"model_attributes_type","loc":["body"],"msg":"Input should be a valid dictionary or object to extract fields from","input":null}]})~"},
            Case{
                R"~(1)~",
                R"~({"detail":[{"type":"model_attributes_type","loc":["body"],"msg":"Input should be a valid dictionary or object to extract fields from","input":1}]})~"},
            Case{
                R"~("x")~",
                R"~({"detail":[{"type":"model_attributes_type","loc":["body"],"msg":"Input should be a valid dictionary or object to extract fields from","input":"x"}]})~"},
            Case{
                R"~({"a":1})~",
                R"~({"detail":[{"type":"union_tag_not_found","loc":["body"],"msg":"Unable to extract tag using discriminator 'type'","input":{"a":1},"ctx":{"discriminator":"'type'"}}]})~"},
            Case{
                R"~({"sandbox_id":1,"type":"bash","payload":{"cmd":"x"}})~",
                R"~({"detail":[{"type":"string_type","loc":["body","bash","sandbox_id"],"msg":"Input should be a valid string","input":1}]})~"},
            Case{
                R"~({"sandbox_id":"","type":"bash","payload":{"cmd":""}})~",
                R"~({"detail":[{"type":"string_too_short","loc":["body","bash","sandbox_id"],"msg":"String should have at least 1 character","input":"","ctx":{"min_length":1}}]})~"},
            Case{
                R"~({"sandbox_id":"SID","type":"x","payload":{}})~",
                R"~({"detail":[{"type":"union_tag_invalid","loc":["body"],"msg":"Input tag 'x' found using 'type' does not match any of the expected tags: 'bash', 'python'","input":{"sandbox_id":"SID","type":"x","payload":{}},"ctx":{"discriminator":"'type'","tag":"x","expected_tags":"'bash', 'python'"}}]})~"},
            Case{
                R"~({"sandbox_id":"SID","type":"bash","payload":{}})~",
                R"~({"detail":[{"type":"missing","loc":["body","bash","payload","cmd"],"msg":"Field required","input":{}}]})~"},
            Case{
                R"~({"sandbox_id":"SID","type":"bash"})~",
                R"~({"detail":[{"type":"missing","loc":["body","bash","payload"],"msg":"Field required","input":{"sandbox_id":"SID","type":"bash"}}]})~"},
            Case{
                R"~({"sandbox_id":"SID","type":"bash","payload":null})~",
                R"~({"detail":[{"type":"model_attributes_type","loc":["body","bash","payload"],"msg":"Input should be a valid dictionary or object to extract fields from","input":null}]})~"},
            Case{
                R"~({"sandbox_id":"SID","type":"bash","payload":[]})~",
                R"~({"detail":[{"type":"model_attributes_type","loc":["body","bash","payload"],"msg":"Input should be a valid dictionary or object to extract fields from","input":[]}]})~"},
            Case{
                R"~({"sandbox_id":"SID","type":"bash","payload":{"cmd":1,"x":2}})~",
                R"~({"detail":[{"type":"string_type","loc":["body","bash","payload","cmd"],"msg":"Input should be a valid string","input":1},{"type":"extra_forbidden","loc":["body","bash","payload","x"],"msg":"Extra inputs are not permitted","input":2}]})~"},
            Case{
                R"~({"sandbox_id":"SID","type":"bash","payload":{"cmd":"echo"},"extra":1})~",
                R"~({"detail":[{"type":"extra_forbidden","loc":["body","bash","extra"],"msg":"Extra inputs are not permitted","input":1}]})~"},
            Case{R"~({"sandbox_id":"SID","type":"python","payload":{"cmd":"echo"}})~",
                 R"~({"detail":[{"type":"missing","loc":["body","python","payload","code"],"msg":"Field required","input":{"cmd":"echo"}},{"type":"extra_forbidden","loc":["body","python","payload","cmd"],"msg":"Extra inputs are not permitted","input":"echo"}]})~"},
            Case{
                R"~({"sandbox_id":"SID","type":null,"payload":{"cmd":"echo"}})~",
                R"~({"detail":[{"type":"union_tag_invalid","loc":["body"],"msg":"Input tag 'None' found using 'type' does not match any of the expected tags: 'bash', 'python'","input":{"sandbox_id":"SID","type":null,"payload":{"cmd":"echo"}},"ctx":{"discriminator":"'type'","tag":"None","expected_tags":"'bash', 'python'"}}]})~"},
            Case{
                R"~({"sandbox_id":"SID","type":1,"payload":{"cmd":"echo"}})~",
                R"~({"detail":[{"type":"union_tag_invalid","loc":["body"],"msg":"Input tag '1' found using 'type' does not match any of the expected tags: 'bash', 'python'","input":{"sandbox_id":"SID","type":1,"payload":{"cmd":"echo"}},"ctx":{"discriminator":"'type'","tag":"1","expected_tags":"'bash', 'python'"}}]})~"},
            Case{
                R"~({"sandbox_id":"SID","type":"bash","payload":{"cmd":"echo a"},})~",
                R"~({"detail":[{"type":"json_invalid","loc":["body",61],"msg":"JSON decode error","input":{},"ctx":{"error":"Expecting property name enclosed in double quotes"}}]})~"},
            Case{
                R"~({"sandbox_id" "SID"})~",
                R"~({"detail":[{"type":"json_invalid","loc":["body",14],"msg":"JSON decode error","input":{},"ctx":{"error":"Expecting ':' delimiter"}}]})~"},
            Case{
                R"~({"sandbox_id":"SID" "x"})~",
                R"~({"detail":[{"type":"json_invalid","loc":["body",20],"msg":"JSON decode error","input":{},"ctx":{"error":"Expecting ',' delimiter"}}]})~"},
            Case{
                R"~({"a":tru})~",
                R"~({"detail":[{"type":"json_invalid","loc":["body",5],"msg":"JSON decode error","input":{},"ctx":{"error":"Expecting value"}}]})~"},
            Case{
                R"~({"a":""})~",
                R"~({"detail":[{"type":"json_invalid","loc":["body",6],"msg":"JSON decode error","input":{},"ctx":{"error":"Invalid control character at"}}]})~"},
            Case{
                R"~({"a":"\x"})~",
                R"~({"detail":[{"type":"json_invalid","loc":["body",6],"msg":"JSON decode error","input":{},"ctx":{"error":"Invalid \\escape"}}]})~"},
            Case{
                R"~({"a":"\u12"})~",
                R"~({"detail":[{"type":"json_invalid","loc":["body",7],"msg":"JSON decode error","input":{},"ctx":{"error":"Invalid \\uXXXX escape"}}]})~"},
            Case{
                R"~({"a":"abc)~",
                R"~({"detail":[{"type":"json_invalid","loc":["body",5],"msg":"JSON decode error","input":{},"ctx":{"error":"Unterminated string starting at"}}]})~"},
            Case{
                R"~({} x)~",
                R"~({"detail":[{"type":"json_invalid","loc":["body",3],"msg":"JSON decode error","input":{},"ctx":{"error":"Extra data"}}]})~"},
            Case{
                R"~({"sandbox_id":1.50,"type":"bash","payload":{"cmd":12345678901234567890123}})~",
                R"~({"detail":[{"type":"string_type","loc":["body","bash","sandbox_id"],"msg":"Input should be a valid string","input":1.5},{"type":"string_type","loc":["body","bash","payload","cmd"],"msg":"Input should be a valid string","input":12345678901234567890123}]})~"},
            Case{
                R"~(  {"a":1,"a":2}  )~",
                R"~({"detail":[{"type":"union_tag_not_found","loc":["body"],"msg":"Unable to extract tag using discriminator 'type'","input":{"a":2},"ctx":{"discriminator":"'type'"}}]})~"},
            Case{R"~({"sandbox_id":"SID","type":"BASH","payload":{"cmd":"x"}})~", R"~({"detail":[{"type":"union_tag_invalid","loc":["body"],"msg":"Input tag 'BASH' found using 'type' does not match any of the expected tags: 'bash', 'python'","input":{"sandbox_id":"SID","type":"BASH","payload":{"cmd":"x"}},"ctx":{"discriminator":"'type'","tag":"BASH","expected_tags":"'bash', 'python'"}}]})~"},
            Case{
                R"~({"type":"bash","payload":{"cmd":"x"}})~",
                R"~({"detail":[{"type":"missing","loc":["body","bash","sandbox_id"],"msg":"Field required","input":{"type":"bash","payload":{"cmd":"x"}}}]})~"},
            Case{
                R"~({"payload":{"cmd":"x"}})~",
                R"~({"detail":[{"type":"union_tag_not_found","loc":["body"],"msg":"Unable to extract tag using discriminator 'type'","input":{"payload":{"cmd":"x"}},"ctx":{"discriminator":"'type'"}}]})~"},
            Case{
                R"~({"sandbox_id":"SID","type":["bash"],"payload":{"cmd":"x"}})~",
                R"~({"detail":[{"type":"union_tag_invalid","loc":["body"],"msg":"Input tag '['bash']' found using 'type' does not match any of the expected tags: 'bash', 'python'","input":{"sandbox_id":"SID","type":["bash"],"payload":{"cmd":"x"}},"ctx":{"discriminator":"'type'","tag":"['bash']","expected_tags":"'bash', 'python'"}}]})~"},
            Case{
                R"~({"sandbox_id":"SID","type":true,"payload":{"cmd":"x"}})~",
                R"~({"detail":[{"type":"union_tag_invalid","loc":["body"],"msg":"Input tag 'True' found using 'type' does not match any of the expected tags: 'bash', 'python'","input":{"sandbox_id":"SID","type":true,"payload":{"cmd":"x"}},"ctx":{"discriminator":"'type'","tag":"True","expected_tags":"'bash', 'python'"}}]})~"},
            Case{
                R"~({"sandbox_id":"","type":"python","payload":{"code":"","z":null,"y":1},"q":[1,2.0,1e5,-0.0,1e16,1e-7,123456789.123]})~", R"~({"detail":[{"type":"string_too_short","loc":["body","python","sandbox_id"],"msg":"String should have at least 1 character","input":"","ctx":{"min_length":1}},{"type":"extra_forbidden","loc":["body","python","payload","z"],"msg":"Extra inputs are not permitted","input":null},{"type":"extra_forbidden","loc":["body","python","payload","y"],"msg":"Extra inputs are not permitted","input":1},{"type":"extra_forbidden","loc":["body","python","q"],"msg":"Extra inputs are not permitted","input":[1,2.0,100000.0,-0.0,1e+16,1e-07,123456789.123]}]})~"},
            Case{
                R"~({"sandbox_id":"SID","type":"bash","payload":"str"})~",
                R"~({"detail":[{"type":"model_attributes_type","loc":["body","bash","payload"],"msg":"Input should be a valid dictionary or object to extract fields from","input":"str"}]})~"},
            Case{
                R"~({"sandbox_id":"SID","type":"bash","payload":{"code":"x"}})~",
                R"~({"detail":[{"type":"missing","loc":["body","bash","payload","cmd"],"msg":"Field required","input":{"code":"x"}},{"type":"extra_forbidden","loc":["body","bash","payload","code"],"msg":"Extra inputs are not permitted","input":"x"}]})~"},
            Case{
                R"~({"a":[1,]})~",
                R"~({"detail":[{"type":"json_invalid","loc":["body",8],"msg":"JSON decode error","input":{},"ctx":{"error":"Expecting value"}}]})~"},
            Case{
                R"~({"a":[1 2]})~",
                R"~({"detail":[{"type":"json_invalid","loc":["body",8],"msg":"JSON decode error","input":{},"ctx":{"error":"Expecting ',' delimiter"}}]})~"},
            Case{
                R"~({"a":})~",
                R"~({"detail":[{"type":"json_invalid","loc":["body",5],"msg":"JSON decode error","input":{},"ctx":{"error":"Expecting value"}}]})~"},
            Case{
                R"~({1:2})~",
                R"~({"detail":[{"type":"json_invalid","loc":["body",1],"msg":"JSON decode error","input":{},"ctx":{"error":"Expecting property name enclosed in double quotes"}}]})~"},
            Case{
                R"~({"a":1,)~",
                R"~({"detail":[{"type":"json_invalid","loc":["body",7],"msg":"JSON decode error","input":{},"ctx":{"error":"Expecting property name enclosed in double quotes"}}]})~"},
            Case{
                R"~([1)~",
                R"~({"detail":[{"type":"json_invalid","loc":["body",2],"msg":"JSON decode error","input":{},"ctx":{"error":"Expecting ',' delimiter"}}]})~"},
            Case{
                R"~(-)~",
                R"~({"detail":[{"type":"json_invalid","loc":["body",0],"msg":"JSON decode error","input":{},"ctx":{"error":"Expecting value"}}]})~"},
            Case{
                R"~({"a":-})~",
                R"~({"detail":[{"type":"json_invalid","loc":["body",5],"msg":"JSON decode error","input":{},"ctx":{"error":"Expecting value"}}]})~"},
            Case{
                R"~({"a":01})~",
                R"~({"detail":[{"type":"json_invalid","loc":["body",6],"msg":"JSON decode error","input":{},"ctx":{"error":"Expecting ',' delimiter"}}]})~"},
            Case{
                R"~({"a":1.})~",
                R"~({"detail":[{"type":"json_invalid","loc":["body",6],"msg":"JSON decode error","input":{},"ctx":{"error":"Expecting ',' delimiter"}}]})~"},
        };

TEST(StepRequest, AnswersAsFastApiDoes) {
  for (const Case& one : cases) {
    const auto parsed = parse_step("application/json", one.body);
    ASSERT_TRUE(std::holds_alternative<http::Response>(parsed)) << one.body;
    const auto& response = std::get<http::Response>(parsed);
    EXPECT_EQ(response.status, 422) << one.body;
    EXPECT_EQ(response.body, one.answer) << one.body;
  }
}

TEST(StepRequest, GoodOnes) {
  const auto parsed =
      parse_step("application/json; charset=utf-8",
                 R"({"payload":{"code":"a\u00e9\ud83d\ude00"},"type":"python","sandbox_id":"x"})");
  ASSERT_TRUE(std::holds_alternative<StepRequest>(parsed));
  const auto& step = std::get<StepRequest>(parsed);
  EXPECT_EQ(step.sandbox_id, "x");
  EXPECT_EQ(step.language, Language::python);
  EXPECT_EQ(step.source, "a\xc3\xa9\xf0\x9f\x98\x80");
}

http::Response refused(std::string_view type, std::string_view body) {
  auto parsed = parse_step(type, body);
  return std::holds_alternative<http::Response>(parsed)
             ? std::get<http::Response>(std::move(parsed))
             : http::Response{};
}

TEST(StepRequest, BodiesThatAreNoJson) {
  EXPECT_EQ(
      refused("application/json", "").body,
      R"({"detail":[{"type":"missing","loc":["body"],"msg":"Field required","input":null}]})");
  EXPECT_EQ(
      refused("text/plain", "{}").body,
      R"({"detail":[{"type":"model_attributes_type","loc":["body"],"msg":"Input should be a valid dictionary or object to extract fields from","input":"{}"}]})");
  EXPECT_EQ(refused("application/vnd.x+json", "{}").body.find("model_attributes_type"),
            std::string::npos);
  EXPECT_EQ(refused("application/json", "{\"a\":\"\xff\"}").status, 400);
  EXPECT_EQ(refused("application/json", std::string(100'000, '[')).status, 400);
  EXPECT_EQ(refused("application/json", R"({"a":NaN})").status, 500);
}

TEST(StepRequest, WhatNoProcessCanBeGiven) {
  const char* nul = R"({"sandbox_id":"x","type":"bash","payload":{"cmd":"a\u0000b"}})";
  EXPECT_EQ(refused("application/json", nul).status, 422);
  const char* half = R"({"sandbox_id":"x","type":"bash","payload":{"cmd":"\ud83d"}})";
  EXPECT_EQ(refused("application/json", half).status, 422);
}

TEST(PythonJson, NumbersArePrintedAsPythonPrintsThem) {
  const auto parsed = parse_python_json(
      "[2.0,1e5,-0.0,1e16,1e-7,123456789.123,0.0001,1E+2,-0,12345678901234567890123,5e-324,"
      "1.7976931348623157e308,0.1,100000000000000.5]");
  ASSERT_TRUE(std::holds_alternative<PyValue>(parsed));
  EXPECT_EQ(dump_python_json(std::get<PyValue>(parsed)),
            "[2.0,100000.0,-0.0,1e+16,1e-07,123456789.123,0.0001,100.0,0,12345678901234567890123,"
            "5e-324,1.7976931348623157e+308,0.1,100000000000000.5]");
}

TEST(PythonJson, TextInListsIsShownAsPythonsReprDoes) {
  const auto shown = [](std::string_view json) {
    return python_str(std::get<PyValue>(parse_python_json(json)));
  };
  EXPECT_EQ(shown(R"(["a'b", "\"'", "\\", "\n\t", "\u0000\u007f"])"),
            R"(["a'b", '"\'', '\\', '\n\t', '\x00\x7f'])");
  EXPECT_EQ(shown(R"(["\u00a0\u00ad\u00e9", "\ud800"])"), "['\\xa0\\xad\u00e9', '\\ud800']");
  EXPECT_EQ(shown(R"("\u0000")"), std::string(1, '\0'));
}

TEST(PythonJson, SurrogatesMayStandAlone) {
  for (const std::string_view json : {"\"\xed\xa0\x80\"", R"("\ud800")"}) {
    const auto value = parse_python_json(json);
    ASSERT_TRUE(std::holds_alternative<PyValue>(value));
    EXPECT_EQ(dump_python_json(std::get<PyValue>(value)), std::nullopt);
  }
  for (const std::string_view json : {"\"\xed\xa0\"", "\"\xff\"", "\"\xed\xa0\x80\xc3\""})
    EXPECT_TRUE(std::holds_alternative<Unreadable>(parse_python_json(json)));
}

TEST(PythonJson, OfEqualKeysTheLastIsAtTheFirstsPlace) {
  const auto parsed = parse_python_json(R"({"a":1,"b":2,"a":3})");
  ASSERT_TRUE(std::holds_alternative<PyValue>(parsed));
  EXPECT_EQ(dump_python_json(std::get<PyValue>(parsed)), R"({"a":3,"b":2})");
}

}  // namespace
}  // namespace cloche::steps
