// SPDX-License-Identifier: Apache-2.0
#include "doors/mcp/mount/tool_config.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "base/guest_folders.h"
#include "base/temp_dir_testing.h"

namespace cloche::mcp::mount {
namespace {

using testing::HasSubstr;

std::vector<ToolServerConfig> read(std::string_view text) {
  return read_tool_config(text, [](const std::string& name) -> std::optional<std::string> {
    if (name == "KEY") return "secret";
    if (name == "EMPTY") return "";
    return std::nullopt;
  });
}

std::string fault_of(std::string_view text) {
  try {
    (void)read(text);
    return "none";
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(ToolConfig, NamesServersAsOtherHostsDo) {
  const auto servers = read(R"({"mcpServers": {
      "b": {"command": "run", "args": ["-y", "pkg"], "env": {"A": "1"}, "cwd": "/tmp", "type": "stdio"},
      "a": {"command": "x", "prefix": "a-", "tools": ["one"], "timeout_s": 2},
      "off": {"command": "x", "disabled": true}}, "other": 1})");
  ASSERT_EQ(servers.size(), 2);
  EXPECT_EQ(servers[0].name, "a");
  EXPECT_EQ(servers[0].prefix, "a-");
  EXPECT_EQ(servers[0].tools, std::vector<std::string>{"one"});
  EXPECT_GE(servers[0].call_timeout.count(), 2000);
  EXPECT_EQ(servers[1].words, (std::vector<std::string>{"run", "-y", "pkg"}));
  EXPECT_EQ(servers[1].env.at("A"), "1");
  EXPECT_EQ(servers[1].cwd, "/tmp");
  EXPECT_FALSE(servers[1].tools);
}

TEST(ToolConfig, FillsVariablesIn) {
  const auto servers = read(R"({"mcpServers": {"a": {"command": "${NO:-run}", "args":
      ["--key=${KEY}!", "${EMPTY:-word}", "$KEY ${", "${EMPTY}"]}}})");
  EXPECT_EQ(servers[0].words,
            (std::vector<std::string>{"run", "--key=secret!", "word", "$KEY ${", ""}));
  EXPECT_THAT(fault_of(R"({"mcpServers": {"a": {"command": "${NO}"}}})"),
              HasSubstr("'a' wants the variable NO, which is not set"));
}

TEST(ToolConfig, SaysWhatIsWrong) {
  EXPECT_THAT(fault_of("{"), HasSubstr("not JSON"));
  EXPECT_THAT(fault_of("[]"), HasSubstr("mcpServers"));
  EXPECT_THAT(fault_of(R"({"mcpServers": []})"), HasSubstr("mcpServers"));
  EXPECT_THAT(fault_of(R"({"mcpServers": {"a": 1}})"), HasSubstr("'a' must be an object"));
  EXPECT_THAT(fault_of(R"({"mcpServers": {"a": {}}})"), HasSubstr("'a' has no 'command'"));
  EXPECT_THAT(fault_of(R"({"mcpServers": {"a": {"url": "https://x"}}})"), HasSubstr("mcp-remote"));
  EXPECT_THAT(fault_of(R"({"mcpServers": {"a": {"command": 1}}})"), HasSubstr("'command'"));
  EXPECT_THAT(fault_of(R"({"mcpServers": {"a": {"command": "x", "args": "y"}}})"),
              HasSubstr("'args'"));
  EXPECT_THAT(fault_of(R"({"mcpServers": {"a": {"command": "x", "args": [1]}}})"),
              HasSubstr("'args'"));
  EXPECT_THAT(fault_of(R"({"mcpServers": {"a": {"command": "x", "env": {"A=B": "1"}}}})"),
              HasSubstr("'env'"));
  EXPECT_THAT(fault_of(R"({"mcpServers": {"a": {"command": "x\u0000"}}})"), HasSubstr("NUL"));
  for (const char* time : {"0", "-1", "1e99", "\"1\""}) {
    EXPECT_THAT(fault_of(std::string(R"({"mcpServers": {"a": {"command": "x", "timeout_s": )") +
                         time + "}}}"),
                HasSubstr("'timeout_s'"));
  }
}

// What a guest had written there would be started on this machine, outside of all sandboxes.
TEST(ToolConfig, IsNoneThatGuestsMayWrite) {
  const TempDir folder;
  folder.write("tools.json", R"({"mcpServers": {"a": {"command": "x"}}})");
  EXPECT_EQ(load_tool_config(folder.path() / "tools.json").size(), 1U);
  guest_folders().add(folder.path());
  try {
    (void)load_tool_config(folder.path() / "tools.json");
    FAIL();
  } catch (const Error& problem) {
    EXPECT_EQ(problem.code(), Errno::acces);
    EXPECT_THAT(std::string(problem.sentence()), HasSubstr("a folder that guests may write to"));
  }
}

}  // namespace
}  // namespace cloche::mcp::mount
