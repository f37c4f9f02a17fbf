// SPDX-License-Identifier: Apache-2.0
#include "doors/mcp/own_sandbox.h"

#include <fmt/format.h>

#include <stdexcept>

#include "doors/mcp/tool_error.h"

namespace cloche::mcp {

Place make_place(Engine& engine, const SandboxOptions& options) {
  try {
    Place place;
    place.sandbox = engine.create(options);
    place.python = std::make_shared<PythonSession>(*place.sandbox);
    return place;
  } catch (const std::exception& problem) {
    throw ToolError{fmt::format("the sandbox cannot be made: {}", problem.what())};
  }
}

Place fork_place(const Place& place) {
  try {
    // The session brings the fork of its sandbox with it.
    std::shared_ptr<PythonSession> python = place.python->fork();
    Place twin;
    twin.sandbox = std::shared_ptr<Sandbox>(python, &python->sandbox());
    twin.python = std::move(python);
    return twin;
  } catch (const std::exception& problem) {
    throw ToolError{fmt::format("the sandbox cannot be forked now: {}", problem.what())};
  }
}

}  // namespace cloche::mcp
