// SPDX-License-Identifier: Apache-2.0
#include "doors/mcp/tools/shell.h"

#include <fmt/format.h>

#include <optional>

namespace cloche::mcp {
namespace {

constexpr std::chrono::seconds patience{10};
constexpr std::uint64_t answer_limit_bytes = 4ULL << 20;

// What a line says; the status of the command before is the shell's again afterwards.
std::optional<std::string> ask(Sandbox& sandbox, std::string_view line, const std::string& folder,
                               const std::stop_token& stop) {
  RunOptions options;
  options.shell = ShellState::kept;
  options.script = fmt::format("eval '{}; [[ '\"$?\"' == 0 ]] || (exit '\"$?\"')'", line);
  options.cwd = folder;
  options.timeout = patience;
  options.output_limit_bytes = answer_limit_bytes;
  options.stop = stop;
  RunResult result = sandbox.run(options);
  if (result.status != RunStatus::exited || result.stdout_truncated) return std::nullopt;
  return std::move(result.stdout_data);
}

}  // namespace

std::string shell_folder(Sandbox& sandbox, const std::stop_token& stop) {
  std::string folder = ask(sandbox, "builtin pwd", {}, stop).value_or("");
  if (folder.ends_with('\n')) folder.pop_back();
  return folder;
}

void set_shell_folder(Sandbox& sandbox, const std::string& folder, const std::stop_token& stop) {
  (void)ask(sandbox, ":", folder, stop);
}

std::map<std::string, std::string> shell_environment(Sandbox& sandbox,
                                                     const std::stop_token& stop) {
  const auto told = ask(sandbox, "/usr/bin/env -0", {}, stop);
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

}  // namespace cloche::mcp
