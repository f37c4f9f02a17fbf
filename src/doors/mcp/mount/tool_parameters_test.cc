// SPDX-License-Identifier: Apache-2.0
#include "doors/mcp/mount/tool_parameters.h"

#include <gmock/gmock.h>

namespace cloche::mcp::mount {
namespace {

using testing::HasSubstr;
using Words = std::vector<std::string>;

const ToolParameters& usual() {
  static const ToolParameters parameters(OrderedJson::parse(R"({
    "type": "object", "required": ["query", "count"],
    "$defs": {"Color": {"enum": ["red", "blue"], "description": "Which color"}},
    "properties": {
      "verbose": {"type": "boolean", "description": "Say more", "default": false},
      "count": {"type": "integer"},
      "query": {"type": "string", "description": "What to look for\nin lines"},
      "ratio": {"anyOf": [{"type": "number"}, {"type": "null"}]},
      "tags": {"type": "array", "items": {"type": "string"}},
      "rows": {"type": "array", "items": {"type": "integer"}},
      "color": {"$ref": "#/$defs/Color"},
      "filter": {"type": "object"},
      "either": {"type": ["integer", "string"]},
      "any": {}}})"));
  return parameters;
}

std::string read(const Words& words) {
  const auto line = usual().read(words);
  if (!line) return line.error().what();
  return write_json(line->arguments) + (line->reads_input ? " and input" : "");
}

TEST(ToolParameters, ReadsFlags) {
  EXPECT_EQ(read({"--query", "a b", "--count=3"}), R"({"query":"a b","count":3})");
  EXPECT_EQ(read({"--query", "--x", "--count", "-1", "--verbose"}),
            R"({"query":"--x","count":-1,"verbose":true})");
  EXPECT_EQ(read({"--query=", "--count=3", "--verbose=false"}),
            R"({"query":"","count":3,"verbose":false})");
  EXPECT_EQ(read({"q", "3", "--ratio", "2", "--color", "red"}),
            R"({"ratio":2,"color":"red","query":"q","count":3})");
  EXPECT_EQ(read({"--count", "3", "--", "--q"}), R"({"count":3,"query":"--q"})");
}

TEST(ToolParameters, ReadsWhatIsNoText) {
  EXPECT_EQ(read({"q", "3", "--tags", "a", "--tags=1", "--rows", "[1,2]", "--rows", "3"}),
            R"({"tags":["a","1"],"rows":[1,2,3],"query":"q","count":3})");
  EXPECT_EQ(read({"q", "3", "--filter", R"({"a": [1]})", "--either", "4"}),
            R"({"filter":{"a":[1]},"either":4,"query":"q","count":3})");
  EXPECT_EQ(read({"q", "3", "--either", "x", "--any", "null"}),
            R"({"either":"x","any":null,"query":"q","count":3})");
  EXPECT_EQ(read({"12", "3", "--any", "word"}), R"({"any":"word","query":"12","count":3})");
}

TEST(ToolParameters, SaysWhichWordIsWrong) {
  EXPECT_THAT(read({"--other", "1"}), HasSubstr("there is no --other"));
  EXPECT_THAT(read({"q"}), HasSubstr("--count is missing"));
  EXPECT_THAT(read({"q", "3", "x"}), HasSubstr("'x' is one word too many"));
  EXPECT_THAT(read({"--query"}), HasSubstr("--query wants a value"));
  EXPECT_THAT(read({"q", "x"}), HasSubstr("--count wants an integer; not 'x'"));
  EXPECT_THAT(read({"q", "1.5"}), HasSubstr("--count wants an integer"));
  EXPECT_THAT(read({"q", "3", "--ratio", "x"}), HasSubstr("--ratio wants a number"));
  EXPECT_THAT(read({"q", "3", "--verbose=maybe"}), HasSubstr("--verbose wants true or false"));
  EXPECT_THAT(read({"q", "3", "--filter", "[1]"}), HasSubstr("--filter wants JSON"));
  EXPECT_THAT(read({"q", "3", "--rows", "x"}), HasSubstr("--rows wants"));
  EXPECT_THAT(read({"q", "3", "--part", "0"}), HasSubstr("--part wants"));
}

TEST(ToolParameters, ReadsStandardInputWhereItIsAsked) {
  EXPECT_EQ(read({}), "{} and input");
  EXPECT_EQ(read({"-", "--count", "4"}), R"({"count":4} and input)");
  EXPECT_EQ(write_json(*usual().merge(R"({"query": "x", "count": 1})",
                                      OrderedJson::parse(R"({"count": 4})"))),
            R"({"query":"x","count":4})");
  EXPECT_THAT(usual().merge("", OrderedJson::object()).error().what(), HasSubstr("no JSON object"));
  EXPECT_THAT(usual().merge("[]", OrderedJson::object()).error().what(),
              HasSubstr("no JSON object"));
  EXPECT_THAT(usual().merge("{}", OrderedJson::object()).error().what(),
              HasSubstr("--query is missing"));
  const ToolParameters none(OrderedJson::object());
  EXPECT_FALSE(none.read({})->reads_input);
}

TEST(ToolParameters, HelpIsOfTheSchema) {
  const std::string help = usual().help("search");
  EXPECT_THAT(help, testing::StartsWith("Usage: search --query TEXT --count INTEGER [--verbose] "));
  EXPECT_THAT(help, HasSubstr("  --query TEXT\n      What to look for in lines\n"));
  EXPECT_THAT(help, HasSubstr("  --verbose\n      Say more (false)\n"));
  EXPECT_THAT(help, HasSubstr("--color red|blue\n      Which color\n"));
  EXPECT_THAT(help, HasSubstr("--tags TEXT ..."));
  EXPECT_THAT(help, HasSubstr("search - < FILE"));
  EXPECT_THAT(help, HasSubstr("--part NUMBER"));
}

TEST(ToolParameters, TakesAnySchema) {
  for (
      const char* schema :
      {"null", "[]", R"({"properties": []})",
       R"({"properties": {"a": 1, "": {}, "-x": {}, "a b": {}}})",
       R"({"properties": {"a": {"type": {}, "anyOf": 1, "enum": 2, "items": 3, "description": 4}}, "required": [1]})",
       R"({"properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": {"a": {"$ref": "#/$defs/a"}}})"}) {
    const ToolParameters parameters(OrderedJson::parse(schema));
    EXPECT_TRUE(parameters.read({}).ok()) << schema;
    EXPECT_FALSE(parameters.help("x").empty());
  }
  // Choices of choices of themselves.
  OrderedJson wide =
      OrderedJson::parse(R"({"properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": {"a": {}}})");
  for (int i = 0; i < 1000; ++i) wide["$defs"]["a"]["anyOf"].push_back({{"$ref", "#/$defs/a"}});
  EXPECT_EQ(write_json(ToolParameters(wide).read(Words{"--a", "1"})->arguments), R"({"a":1})");
  // More than there may be.
  OrderedJson many;
  for (int i = 0; i < 1000; ++i) many["properties"][std::to_string(i)] = {{"type", "string"}};
  EXPECT_TRUE(ToolParameters(many).read(Words{"--255", "x"}).ok());
  EXPECT_FALSE(ToolParameters(many).read(Words{"--256", "x"}).ok());
}

}  // namespace
}  // namespace cloche::mcp::mount
