// SPDX-License-Identifier: Apache-2.0
// ToolProcess: the program of a tool server, a child of this process (the spawner's) with two
// pipes.
//
// It gets few of this process's variables, so that what is in the others stays here, and writes to
// this process's standard error. It and what it has started in its group end with this.
#pragma once

#include <sys/types.h>

#include "base/unique_fd.h"
#include "doors/mcp/mount/tool_config.h"

namespace cloche::mcp::mount {

class ToolProcess {
 public:
  // Throws Error: the program is not there, or cannot be started.
  explicit ToolProcess(const ToolServerConfig& config);
  ~ToolProcess() { end(); }
  ToolProcess(const ToolProcess&) = delete;
  ToolProcess& operator=(const ToolProcess&) = delete;

  // Ends it, and does not wait for what it might still want to do. A second time does nothing.
  void end() noexcept;

  // The ends of its pipes that are not its own; neither waits.
  struct Pipes {
    UniqueFd input;   // what is written is its standard input
    UniqueFd output;  // its standard output
  };
  Pipes take_pipes() noexcept { return std::move(pipes_); }

 private:
  Pipes pipes_;
  pid_t pid_ = 0;
};

}  // namespace cloche::mcp::mount
