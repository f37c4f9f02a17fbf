// SPDX-License-Identifier: Apache-2.0
#include <optional>

#include "doors/cli/commands.h"
#include "doors/cli/jail.h"
#include "doors/cli/support.h"
#include "doors/mcp/stdio.h"

namespace cloche::cli {

int mcp_command(const Options& options) {
  mcp::StdioOptions server;
  server.engine.progress = complain;
  server.hub.sandbox = options.sandbox;
  server.hub.allow = options.allowed_rules;
  server.hub.tools = *mcp::tool_set_of(options.tool_set);
  // Tool servers are programs of the user's, which need what the user may do: started from outside
  // of the jail.
  std::optional<mcp::mount::ToolSpawner> spawner;
  if (!options.mounted_tools.empty()) {
    spawner.emplace(mcp::mount::load_tool_config(options.mounted_tools));
    if (!spawner->servers().empty()) server.tool_servers = &*spawner;
  }
  enter_jail(options, OutPlaces({}), server.engine, Connections::some);
  mcp::serve_stdio(server);
}

}  // namespace cloche::cli
