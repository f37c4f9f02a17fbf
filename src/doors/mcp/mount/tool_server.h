// SPDX-License-Identifier: Apache-2.0
// ToolServer: a server of tools that this process keeps, and its tools as commands of a sandbox.
//
// Its program runs from the start on; one that has ended is started again by a call, at most once a
// second. Thread-safe.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "cloche/host_command.h"
#include "doors/mcp/mount/tool_connection.h"
#include "doors/mcp/mount/tool_parameters.h"

namespace cloche::mcp::mount {

class ToolServer : public std::enable_shared_from_this<ToolServer> {
 public:
  static constexpr std::size_t tool_limit = 256;
  static constexpr std::size_t input_limit_bytes = std::size_t{1} << 20;

  // Of spawner.servers()[index]; the spawner outlives it. Starts the program. Throws Error.
  ToolServer(ToolSpawner& spawner, std::size_t index);
  ToolServer(const ToolServer&) = delete;
  ToolServer& operator=(const ToolServer&) = delete;

  const std::string& name() const noexcept { return config_.name; }

  // A command for each tool that the configuration wants, as the server has them now. Waits for its
  // answer. Throws Error, also for a wanted tool that is unknown. The commands keep this.
  std::vector<HostCommand> commands();

  // Ends the program; calls from now on say so.
  void end();

 private:
  struct Tool {
    std::string name;
    std::string command;
    ToolParameters parameters;
  };

  std::vector<OrderedJson> listed();
  OrderedJson ask_and_wait(std::string_view method, OrderedJson params);
  HostCommand command_of(const OrderedJson& about);
  int call(const Tool& tool, CommandCall& process);
  int pass(const Tool& tool, ToolCommandLine line, CommandCall& process);
  std::shared_ptr<ToolConnection> connected() const;
  std::shared_ptr<ToolConnection> connection();

  ToolSpawner& spawner_;
  const std::size_t index_;
  const ToolServerConfig& config_;
  Mutex mutex_;
  ToolConnection::Clock::time_point started_ GUARDED_BY(mutex_);
  std::shared_ptr<ToolConnection> connection_ GUARDED_BY(mutex_);
  bool ended_ GUARDED_BY(mutex_) = false;
};

}  // namespace cloche::mcp::mount
