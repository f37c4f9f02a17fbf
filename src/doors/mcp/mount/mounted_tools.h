// SPDX-License-Identifier: Apache-2.0
// MountedTools: the tools of all servers that a configuration names, as commands of sandboxes.
#pragma once

#include <memory>
#include <vector>

#include "cloche/host_command.h"
#include "doors/mcp/mount/tool_server.h"

namespace cloche::mcp::mount {

class MountedTools {
 public:
  // Starts the servers of `spawner`, which outlives this, side by side, and waits until each has
  // said what it has; nullptr: there are none. Throws Error: one that does not, or two tools of one
  // name.
  explicit MountedTools(ToolSpawner* spawner);
  ~MountedTools() { end(); }
  MountedTools(const MountedTools&) = delete;
  MountedTools& operator=(const MountedTools&) = delete;

  const std::vector<HostCommand>& commands() const noexcept { return commands_; }

  // Ends the servers' programs. A second time does nothing.
  void end();

 private:
  std::vector<std::shared_ptr<ToolServer>> servers_;
  std::vector<HostCommand> commands_;
};

}  // namespace cloche::mcp::mount
