// SPDX-License-Identifier: Apache-2.0
// HostCommands: the commands of the host that a sandbox has, and the files by which it finds them.
//
// /usr/local/bin/NAME is a script whose interpreter is the one program that all of them share: what
// executes it calls run(). The files are in forks of the sandbox, and not in what is
// saved of it. What names a command that nobody serves is told so, with status 126.
//
// Thread-safe.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "sandbox/command_process.h"

namespace cloche::sandbox {

// The interpreter of the files.
inline constexpr std::string_view host_command_program = "/usr/lib/cloche/host-command";
// What the base layer has there, for who looks.
extern const std::string_view host_command_program_text;

class HostCommands {
 public:
  static constexpr std::size_t limit = 256;
  static constexpr std::size_t calls_limit = 256;  // at once

  // Those of a sandbox whose files are there already.
  explicit HostCommands(std::vector<HostCommand> commands);

  // From now on it is these; calls in progress go on. Throws Error: names that are none or are
  // taken, too many, no room for the files. Then nothing has changed.
  void set(std::vector<HostCommand> commands, CommandFiles& files);
  std::vector<HostCommand> list() const;

  // Serves the call that the process is; its status.
  int run(CommandProcess& process) noexcept;

 private:
  using List = std::vector<HostCommand>;
  std::shared_ptr<const List> current() const;

  mutable Mutex mutex_;
  std::shared_ptr<const List> commands_ GUARDED_BY(mutex_);  // in the order of their names
  std::atomic<std::size_t> calls_ = 0;
};

}  // namespace cloche::sandbox
