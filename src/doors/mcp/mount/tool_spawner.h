// SPDX-License-Identifier: Apache-2.0
// ToolSpawner: a small process that starts the programs of tool servers, and ends them.
//
// `cloche mcp` itself starts nothing: its jail does not let it. The spawner is forked off before
// that, while there is one thread. It starts the programs that the user's configuration names and
// no others, whatever it is asked for, and never looks at what they or a model say. A program ends,
// with its group, when its run does; when `cloche mcp` goes, whatever way, all of them do.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <vector>

#include "base/unique_fd.h"
#include "doors/mcp/mount/tool_config.h"

namespace cloche::mcp::mount {

// One run of a program, until it is ended or destroyed.
class ToolRun {
 public:
  ToolRun(UniqueFd input, UniqueFd output, UniqueFd channel) noexcept
      : input_(std::move(input)), output_(std::move(output)), channel_(std::move(channel)) {}
  ToolRun(ToolRun&&) noexcept = default;
  ToolRun& operator=(ToolRun&&) = delete;
  ~ToolRun() { end(); }

  // Kills it, and waits until it has gone. A second time does nothing.
  void end() noexcept;

  // Ours of its pipes; neither waits.
  int input() const noexcept { return input_.get(); }    // what is written is its standard input
  int output() const noexcept { return output_.get(); }  // its standard output

 private:
  UniqueFd input_;
  UniqueFd output_;
  UniqueFd channel_;  // its end is the program's
};

class ToolSpawner {
 public:
  // Of one server at a time: one that ends, and its next one.
  static constexpr std::size_t run_limit = 2;

  // Forks: only while there is one thread. Throws HostError.
  explicit ToolSpawner(std::vector<ToolServerConfig> servers);
  ~ToolSpawner();  // all programs have ended after it
  ToolSpawner(const ToolSpawner&) = delete;
  ToolSpawner& operator=(const ToolSpawner&) = delete;

  const std::vector<ToolServerConfig>& servers() const noexcept { return servers_; }

  // Starts the program of servers()[server]. Throws Error: the program is not there, or cannot be
  // started. Thread-safe.
  ToolRun start(std::size_t server);

 private:
  const std::vector<ToolServerConfig> servers_;
  UniqueFd channel_;
  pid_t process_ = -1;
};

}  // namespace cloche::mcp::mount
