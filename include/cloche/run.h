// SPDX-License-Identifier: Apache-2.0
// What to run in a sandbox, and how it ended.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace cloche {

enum class Stream : std::uint8_t { out = 1, err = 2 };

// Called with output as it is written, in order for each stream, on a thread of the sandbox or on
// the one that waits for the run: one call at a time for a stream, both streams at once. The
// command waits while it runs, so that a slow reader slows the writer and nothing is lost. It must
// not throw, and must not call the same sandbox.
using OutputCallback = std::function<void(Stream stream, std::string_view data)>;

// Whose name something is done in: the sandbox's user, or its root, whom no permission of a file
// stops. Neither has anything of the host.
enum class Account : std::uint8_t { user, root };

// Which shell runs a script.
enum class ShellState : std::uint8_t {
  // A new one, gone with the run. Runs are independent, and may run side by side.
  fresh,
  // The one that the sandbox keeps: directory, variables, functions, options, aliases and traps of
  // a script are there for the next one, and in forks of the sandbox. These runs queue. `cwd` is
  // where this run starts (and stays: it is as if the script began with cd); `environment` is
  // exported for this run only. `exit`, `set -e` and errors end the run and not the shell. When the
  // shell itself is ended (a signal, exec, a time limit) the next run has it as it was before that
  // run. Background jobs go on from run to run; what they write between runs is dropped.
  kept,
};

struct RunOptions {
  // The shell command: `bash -c script arguments...` ($0 is the first argument, or "bash").
  std::string script = {};
  std::vector<std::string> arguments = {};
  // Instead of a script: a program and its arguments; argv[0] is looked up in PATH when it has no
  // slash.
  std::vector<std::string> argv = {};
  // For a script.
  ShellState shell = ShellState::fresh;

  // For what is not of the kept shell.
  Account account = Account::user;

  // Added to the sandbox's environment for this run.
  std::map<std::string, std::string> environment = {};
  // Absolute, or relative to the account's home folder; empty: that folder, or where the kept shell
  // is.
  std::string cwd = {};

  // The command's standard input: these bytes, or what this descriptor of the host gives until its
  // end (not closed here), from when the command first asks for input.
  std::string stdin_data = {};
  int stdin_fd = -1;

  // Wall clock; the whole process tree is killed when it is over. Absent: the sandbox's. 0: none.
  // While the run waits for a program of the system's to be compiled, once per machine, it stands
  // still; stop and cancel end the wait.
  std::optional<std::chrono::milliseconds> timeout = {};
  // What is kept of stdout, and of stderr, each; the rest is counted and dropped, and the result
  // says so.
  std::uint64_t output_limit_bytes = 64ULL << 20;
  OutputCallback output = {};  // when set, nothing is kept in the result

  // Ends this run alone, with all that it has started, when it is asked to stop: from another
  // thread, also before the run has begun. The result says `killed`. A kept shell is as it was
  // before.
  std::stop_token stop = {};
};

enum class RunStatus : std::uint8_t {
  exited,       // by itself: exit_code
  signaled,     // by a signal: signal; exit_code is 128 + signal
  timed_out,    // killed at its time limit: exit_code 124
  killed,       // Sandbox::cancel, kill or RunOptions::stop: exit_code 137
  not_started,  // exit_code 126 or 127; reason says why
};

struct RunResult {
  RunStatus status = RunStatus::exited;
  int exit_code = 0;  // as a shell gives it
  int signal = 0;
  std::string
      reason;  // one sentence for anything but `exited`; what a trap was, where one ended it
  std::string stdout_data;
  std::string stderr_data;
  bool stdout_truncated = false;
  bool stderr_truncated = false;
  // Files in the sandbox with the figures that Python programs of the run have shown (plt.show()).
  std::vector<std::string> figures;
  std::chrono::nanoseconds duration{0};
};

}  // namespace cloche
