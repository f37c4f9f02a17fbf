// SPDX-License-Identifier: Apache-2.0
// The `cloche mcp` command: serves one client on two descriptors, one message a line.
#pragma once

#include "cloche/engine.h"
#include "doors/mcp/hub.h"
#include "doors/mcp/mount/tool_spawner.h"

namespace cloche::mcp {

struct StdioOptions {
  int in = 0;
  int out = 1;
  HubOptions hub;
  EngineOptions engine;
  // The tools of its servers are commands of each sandbox; nullptr: there are none.
  mount::ToolSpawner* tool_servers = nullptr;
};

// Until the end of input, or until nobody reads the output any more. What was asked before the end
// is answered if it can be within a moment; then, within a second of the end, the process exits
// with status 0, and all sandboxes and tool servers with it. Throws Error, also for a rule of the
// network that is none, and for tools that cannot be commands.
[[noreturn]] void serve_stdio(const StdioOptions& options);

}  // namespace cloche::mcp
