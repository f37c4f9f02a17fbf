// SPDX-License-Identifier: Apache-2.0
#include "doors/mcp/mount/tool_result.h"

#include <gmock/gmock.h>

namespace cloche::mcp::mount {
namespace {

using testing::HasSubstr;

ToolOutput output(const char* result, std::size_t part = 0) {
  return output_of(OrderedJson::parse(result), "tool", part);
}

TEST(ToolResult, TextGoesToStandardOutput) {
  const ToolOutput two =
      output(R"({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b\n"}]})");
  EXPECT_EQ(two.out, "a\nb\n");
  EXPECT_EQ(two.err, "");
  EXPECT_EQ(two.status, 0);
  EXPECT_EQ(output(R"({"content": []})").out, "null\n");
  EXPECT_EQ(output(R"({"structuredContent": {"a": 1}})").out, "{\"a\":1}\n");
  EXPECT_EQ(output(R"({"content": [{"type": "resource", "resource": {"uri": "x:", "text": "t"}},
                                   {"type": "resource_link", "uri": "y:"}]})")
                .out,
            "t\ny:\n");
}

TEST(ToolResult, AFailureGoesToStandardError) {
  const ToolOutput failed =
      output(R"({"isError": true, "content": [{"type": "text", "text": "no such"}]})", 1);
  EXPECT_EQ(failed.out, "");
  EXPECT_EQ(failed.err, "no such\n");
  EXPECT_EQ(failed.status, 1);
  EXPECT_THAT(output(R"({"isError": true, "content": []})").err, HasSubstr("does not say why"));
}

TEST(ToolResult, APictureIsNamedAndPrintedWhereItIsAskedFor) {
  const char* both =
      R"({"content": [{"type": "text", "text": "a"}, {"type": "image", "data": "aGk=", "mimeType": "image/gif"}]})";
  const ToolOutput named = output(both);
  EXPECT_EQ(named.out, "a\n");
  EXPECT_THAT(
      named.err,
      HasSubstr("tool: part 2 of the result is image/gif, 2 bytes, and not printed: --part 2"));
  EXPECT_EQ(named.status, 0);
  EXPECT_EQ(output(both, 2).out, "hi");
  EXPECT_EQ(output(both, 1).out, "a");
  EXPECT_THAT(output(both, 3).err, HasSubstr("2 parts, and no part 3"));
  const ToolOutput alone =
      output(R"({"content": [{"type": "resource", "resource": {"blob": "aGk="}}]})");
  EXPECT_EQ(alone.out, "");
  EXPECT_THAT(alone.err, HasSubstr("application/octet-stream"));
  EXPECT_EQ(alone.status, 1);
}

TEST(ToolResult, TakesWhatIsNone) {
  for (const char* result : {"null", "[]", "1", R"({"content": 1})", "{}"}) {
    EXPECT_EQ(output(result).status, 1) << result;
    EXPECT_THAT(output(result).err, HasSubstr("no content")) << result;
  }
  for (const char* part :
       {"1", "{}", R"({"type": 1})", R"({"type": "other"})", R"({"type": "image"})",
        R"({"type": "image", "data": "*"})", R"({"type": "resource"})"}) {
    const ToolOutput odd = output((std::string(R"({"content": [)") + part + "]}").c_str());
    EXPECT_EQ(odd.out, "") << part;
    EXPECT_THAT(odd.err, HasSubstr("part 1 of the result is")) << part;
    EXPECT_EQ(odd.status, 1) << part;
  }
}

}  // namespace
}  // namespace cloche::mcp::mount
