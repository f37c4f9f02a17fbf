// SPDX-License-Identifier: Apache-2.0
// HostCommand: a function of the host that is a program in a sandbox: a file in its PATH, with
// arguments, standard streams and an exit code, which scripts, pipes and other programs use as any
// other.
//
//   options.commands = {{.name = "search",
//                        .description = "Searches the archive: search WORDS",
//                        .handler = [](cloche::CommandCall& call) {
//                          (void)call.write(cloche::Stream::out, find(call.arguments()));
//                          return 0;
//                        }}};
//   sandbox->run({.script = "search foo | head -1"});
//
// `search --help` prints the description, unless that is empty: then the function is called.
//
// A call is a process: it takes part in pipes and jobs, is stopped, killed and counted as others
// are, and ends with its time limit. Its handler runs on a thread of the sandbox, or on that of
// Sandbox::run, and several calls run at a time. It must not call the same sandbox.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cloche/result.h"
#include "cloche/run.h"

namespace cloche {

// One call in progress. It lives until the handler returns.
//
// `read`, `write` and `wait` are for the thread of the handler; they wait as any program does, and
// are ECANCELED once the process must end (killed, its time over, nobody reads its output): the
// handler returns then, soon, for who kills waits for it. What it returns then is not used.
class CommandCall {
 public:
  // A write of so many bytes to a stream that is ready does not wait.
  static constexpr std::size_t piece_bytes = 4096;

  virtual ~CommandCall() = default;

  virtual const std::string& name() const = 0;
  // Without the name. Bytes as the caller gave them.
  virtual const std::vector<std::string>& arguments() const = 0;
  virtual const std::map<std::string, std::string>& environment() const = 0;
  virtual const std::string& directory() const = 0;

  // Standard input: what there is, `to.size()` bytes at most; 0: its end. Nothing is taken from it
  // but by this.
  virtual Result<std::size_t> read(std::span<char> to) = 0;
  // All of it. EPIPE: nobody reads it any more, and the caller ignores SIGPIPE.
  virtual Result<void> write(Stream stream, std::string_view bytes) = 0;

  struct Ready {
    bool input = false;
    bool out = false;
    bool err = false;
  };
  // Until something of what is wanted can go on without waiting, or wake() was called since the
  // last wait. What has ended or failed can: its call says so.
  virtual Result<Ready> wait(const Ready& wanted) = 0;
  // From any thread, while the handler runs.
  virtual void wake() = 0;
};

struct HostCommand {
  // Letters, digits, `_`, `.`, `+` and `-`, 64 at most, the first a letter, digit or `_`. EEXIST
  // for that of a program of the system or of a word of the shell: it is not shadowed.
  std::string name = {};
  std::string description = {};  // 64 KiB at most
  // Gives the exit code, of which 8 bits count. The what() of an exception is printed to standard
  // error, and the code is 1. Forks of the sandbox have copies of it.
  std::function<int(CommandCall& call)> handler = {};
};

}  // namespace cloche
