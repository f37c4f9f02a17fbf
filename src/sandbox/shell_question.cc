// SPDX-License-Identifier: Apache-2.0
#include "sandbox/shell_question.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace cloche::sandbox {

std::optional<std::string> ask_shell(Sandbox& sandbox, std::string_view line, RunOptions how) {
  how.shell = ShellState::kept;
  how.script = fmt::format("eval '{}; [[ '\"$?\"' == 0 ]] || (exit '\"$?\"')'", line);
  RunResult result = sandbox.run(how);
  if (result.status != RunStatus::exited || result.stdout_truncated) return std::nullopt;
  return std::move(result.stdout_data);
}

std::map<std::string, std::string> shell_environment(Sandbox& sandbox, RunOptions how) {
  const auto told = ask_shell(sandbox, "/usr/bin/env -0", std::move(how));
  if (!told) return sandbox.environment();
  std::map<std::string, std::string> variables;
  for (std::size_t at = 0; at < told->size();) {
    const std::size_t end = std::min(told->find('\0', at), told->size());
    const std::string line = told->substr(at, end - at);
    at = end + 1;
    const std::size_t equals = line.find('=');
    // $_ is the command that tells.
    if (equals == std::string::npos || equals == 0 || line.starts_with("_=")) continue;
    variables.emplace(line.substr(0, equals), line.substr(equals + 1));
  }
  return variables;
}

}  // namespace cloche::sandbox
