// SPDX-License-Identifier: Apache-2.0
#include "doors/mcp/tools/shell.h"

#include "sandbox/shell_question.h"

namespace cloche::mcp {
namespace {

RunOptions question(const std::stop_token& stop) {
  RunOptions options;
  options.timeout = std::chrono::seconds(10);
  options.output_limit_bytes = 4ULL << 20;
  options.stop = stop;
  return options;
}

}  // namespace

std::string shell_folder(Sandbox& sandbox, const std::stop_token& stop) {
  std::string folder = sandbox::ask_shell(sandbox, "builtin pwd", question(stop)).value_or("");
  if (folder.ends_with('\n')) folder.pop_back();
  return folder;
}

void set_shell_folder(Sandbox& sandbox, const std::string& folder, const std::stop_token& stop) {
  RunOptions options = question(stop);
  options.cwd = folder;
  (void)sandbox::ask_shell(sandbox, ":", std::move(options));
}

std::map<std::string, std::string> shell_environment(Sandbox& sandbox,
                                                     const std::stop_token& stop) {
  return sandbox::shell_environment(sandbox, question(stop));
}

}  // namespace cloche::mcp
