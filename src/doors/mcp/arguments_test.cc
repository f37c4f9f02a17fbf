// SPDX-License-Identifier: Apache-2.0
#include "doors/mcp/arguments.h"

#include <gtest/gtest.h>

namespace cloche::mcp {
namespace {

using Kind = Parameter::Kind;
using Need = Parameter::Need;

const std::vector<Parameter> parameters{
    {"command", Kind::word, "What to run.", Need::required},
    {"timeout_s", Kind::number, "How long.", Need::optional, 0.1, 3600},
    {"count", Kind::integer, "How many.", Need::optional, 1, 20},
    {"restart", Kind::flag, "Anew."},
    {"action", Kind::choice, "What.", Need::optional, 0, 0, {"show", "allow"}},
    {"rules", Kind::words, "Which."},
    {"env", Kind::word_map, "Variables."},
    {"lines", Kind::range, "From and to.", Need::optional, -1, 100}};

std::string fault_of(const char* text, const char* lenient = nullptr) {
  const Json given = Json::parse(text);
  try {
    const Arguments arguments(parameters, given, lenient);
    return {};
  } catch (const ToolError& error) {
    return error.sentence;
  }
}

TEST(Arguments, AreReadByTheirKind) {
  const Json given = Json::parse(
      R"({"command":"ls","timeout_s":0.5,"count":3.0,"restart":true,"action":"show",
          "rules":["a","b"],"env":{"x":"1"},"lines":[2,-1]})");
  const Arguments arguments(parameters, given);
  EXPECT_EQ(arguments.text("command"), "ls");
  EXPECT_EQ(arguments.number("timeout_s", 1), 0.5);
  EXPECT_EQ(arguments.integer("count", 1), 3);
  EXPECT_TRUE(arguments.flag("restart"));
  EXPECT_EQ(arguments.words("rules"), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(arguments.word_map("env").at("x"), "1");
  EXPECT_EQ(arguments.range("lines"), std::pair(std::int64_t{2}, std::int64_t{-1}));
}

TEST(Arguments, ThatAreWrongAreNamedWithWhatTheyTake) {
  EXPECT_EQ(fault_of("{}"),
            "the argument 'command' is missing: it must be a string without NUL characters");
  EXPECT_EQ(fault_of(R"({"command":null})"), fault_of("{}"));
  EXPECT_EQ(fault_of(R"({"command":"x","count":21})"),
            "the argument 'count' must be an integer from 1 to 20");
  EXPECT_NE(fault_of(R"({"command":"x","count":1.5})"), "");
  EXPECT_NE(fault_of(R"({"command":"x","count":"3"})"), "");
  EXPECT_NE(fault_of(R"({"command":"a\u0000b"})"), "");
  EXPECT_NE(fault_of(R"({"command":"x","timeout_s":1e308})"), "");
  EXPECT_EQ(fault_of(R"({"command":"x","action":"stop"})"),
            "the argument 'action' must be one of show, allow");
  EXPECT_NE(fault_of(R"({"command":"x","rules":["a",1]})"), "");
  EXPECT_NE(fault_of(R"({"command":"x","env":{"a=b":"c"}})"), "");
  EXPECT_NE(fault_of(R"({"command":"x","lines":[1]})"), "");
  EXPECT_EQ(fault_of(R"({"command":"x","cmd":1})"),
            "there is no argument 'cmd': this tool takes command, timeout_s, count, restart, "
            "action, rules, env, lines");
  EXPECT_EQ(fault_of("[]"), "the arguments must be an object");
}

TEST(Arguments, OneThatIsRequiredMayBeExcused) {
  EXPECT_EQ(fault_of(R"({"restart":true})", "restart"), "");
  EXPECT_NE(fault_of(R"({"restart":false})", "restart"), "");
}

TEST(Arguments, HaveASchema) {
  const Reply schema = schema_of(parameters);
  EXPECT_EQ(schema["required"], Reply::array({"command"}));
  EXPECT_EQ(schema["additionalProperties"], false);
  EXPECT_EQ(schema["properties"]["count"]["maximum"], 20);
  EXPECT_EQ(schema["properties"]["action"]["enum"], Reply::array({"show", "allow"}));
}

}  // namespace
}  // namespace cloche::mcp
