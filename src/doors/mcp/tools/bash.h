// SPDX-License-Identifier: Apache-2.0
// A command in the shell that a sandbox keeps, as both tools of that name run it.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "doors/mcp/tools/written.h"

namespace cloche::mcp {

struct ShellCommand {
  std::string script;
  std::string cwd;  // of this command alone; empty: where the shell is
  std::map<std::string, std::string> environment;
  std::string stdin_data;
  std::chrono::milliseconds timeout{0};
};

struct ShellAnswer {
  Written written;
  std::string ending;            // how it ended, in brackets; empty: well
  std::optional<int> exit_code;  // where it ended by itself
  bool timed_out = false;
  bool is_error = false;
  std::chrono::nanoseconds duration{0};
  std::vector<std::string> figures;
};

// Throws ToolError where it could not be started.
ShellAnswer run_in_shell(Call& call, const LiveSandbox& live, ShellCommand command);

// The argument timeout_s.
std::chrono::milliseconds timeout_of(const Call& call, double usual_s);

}  // namespace cloche::mcp
