// SPDX-License-Identifier: Apache-2.0
#include "doors/mcp/mount/mounted_tools.h"

#include <fmt/format.h>

#include <map>
#include <string>

#include "base/error.h"

namespace cloche::mcp::mount {

MountedTools::MountedTools(ToolSpawner* spawner) {
  if (spawner == nullptr) return;
  for (std::size_t place = 0; place < spawner->servers().size(); ++place)
    servers_.push_back(std::make_shared<ToolServer>(*spawner, place));
  std::map<std::string, std::string> owners;  // of commands
  for (const std::shared_ptr<ToolServer>& server : servers_) {
    for (HostCommand& command : server->commands()) {
      const auto [owner, is_new] = owners.emplace(command.name, server->name());
      if (!is_new) {
        throw request_error(
            fmt::format(
                "the tool servers '{}' and '{}' both have '{}': give one of them a \"prefix\", "
                "or say which \"tools\" of it there are to be",
                owner->second, server->name(), command.name),
            Errno::exist);
      }
      commands_.push_back(std::move(command));
    }
  }
}

void MountedTools::end() {
  for (const std::shared_ptr<ToolServer>& server : servers_) server->end();
}

}  // namespace cloche::mcp::mount
