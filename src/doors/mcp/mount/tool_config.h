// SPDX-License-Identifier: Apache-2.0
// The file of `cloche mcp --mount-tools`: which tool servers there are, in the form in which hosts
// of MCP name them.
//
//   {"mcpServers": {"archive": {"command": "npx", "args": ["-y", "archive-mcp"],
//                               "env": {"ARCHIVE_KEY": "${ARCHIVE_KEY}"}}}}
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cloche::mcp::mount {

struct ToolServerConfig {
  std::string name;
  std::vector<std::string> words;                 // the program and its arguments
  std::map<std::string, std::string> env;         // beside the few variables that each program gets
  std::string cwd;                                // empty: that of this process
  std::string prefix;                             // how the names of its commands begin
  std::optional<std::vector<std::string>> tools;  // nothing: all that it has
  std::chrono::milliseconds call_timeout{120'000};
};

// The value of a variable of this process; nothing: there is none.
using Variables = std::function<std::optional<std::string>(const std::string& name)>;

// The servers that the text names and does not disable, by name. ${NAME} and ${NAME:-WORD} in
// `command`, `args`, `env` and `cwd` are variables of this process. Members that it does not know
// are other hosts', and ignored. Throws an Error of kind request, with a sentence that names the
// member.
std::vector<ToolServerConfig> read_tool_config(std::string_view text, const Variables& variables);

// The same of a file of this machine, with this process's variables. Throws Error: EACCES for one
// that guests may write (guest_folders()).
std::vector<ToolServerConfig> load_tool_config(const std::string& path);

}  // namespace cloche::mcp::mount
