// SPDX-License-Identifier: Apache-2.0
#include "doors/mcp/own_sandbox.h"

#include <fmt/format.h>

#include <exception>

#include "doors/mcp/tool_error.h"

namespace cloche::mcp {
namespace {

// What the tools' paths begin at.
constexpr const char* home = "/workspace/";

}  // namespace

LiveSandbox make_sandbox(Engine& engine, const SandboxOptions& options) {
  try {
    SandboxOptions own = options;
    if (own.engine == EngineKind::native_linux)
      own.home = home;  // said, so that it is not where a system image works
    return sandbox::make_live_sandbox(engine.create(own));
  } catch (const std::exception& problem) {
    throw ToolError{fmt::format("the sandbox cannot be made: {}", problem.what())};
  }
}

LiveSandbox fork_sandbox(const LiveSandbox& live) {
  try {
    return sandbox::fork_live_sandbox(live);
  } catch (const std::exception& problem) {
    throw ToolError{fmt::format("the sandbox cannot be forked now: {}", problem.what())};
  }
}

}  // namespace cloche::mcp
