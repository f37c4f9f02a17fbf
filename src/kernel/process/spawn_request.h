// SPDX-License-Identifier: Apache-2.0
// What a new process is, when the host starts it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "kernel/files/file.h"
#include "kernel/time/run_clock.h"
#include "vfs/filesystem.h"

namespace cloche::kernel {

struct Program;
class Terminal;

struct SpawnRequest {
  std::string path;  // looked up as a path, not in PATH
  // Executed in place of the program at `path`, which is looked up and checked all the same. May be
  // null.
  std::shared_ptr<const Program> program;
  std::vector<std::string> argv;
  std::vector<std::string> environment;
  std::string cwd = "/";
  vfs::Credentials credentials;
  std::map<std::int32_t, FilePtr> files;  // descriptor -> file
  std::shared_ptr<Terminal> terminal;     // becomes the controlling terminal
  // Parked: nothing runs before the first Kernel::resume, or a signal.
  enum class Begin : std::uint8_t { at_once, parked } begin = Begin::at_once;
  // Of its run, and of what it starts; null: it belongs to none. A program that the user brought is
  // compiled until that is over: ETIMEDOUT then.
  std::shared_ptr<RunClock> clock;
  // Asked to stop, nobody waits for a compiler any more: EINTR.
  std::stop_token stop;
};

}  // namespace cloche::kernel
