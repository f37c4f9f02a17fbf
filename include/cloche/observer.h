// SPDX-License-Identifier: Apache-2.0
// What is told about a sandbox to whoever watches it, and what processes it has.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "cloche/network.h"

namespace cloche {

// A run of a command, of a program with a terminal, or of Python code begins or has ended.
struct RunEvent {
  enum class Kind : std::uint8_t { command, terminal, python };
  enum class Moment : std::uint8_t { began, ended };
  Kind kind = Kind::command;
  Moment moment = Moment::began;
  std::uint64_t number = 0;  // of the run; its two events have the same
  std::string_view text;     // its first text_limit_bytes at most; may end within a character
  int exit_code = 0;         // of one that has ended
  std::string_view reason;   // one sentence for what did not end by itself; otherwise empty
  std::chrono::nanoseconds duration{0};

  static constexpr std::size_t text_limit_bytes = 1024;
};

// Both are called on threads of the sandbox or of those who run something in it, and side by side.
// They must be quick, must not throw, and must call nothing of the sandbox.
struct SandboxObserver {
  std::function<void(const RunEvent& event)> run;
  std::function<void(const NetworkEvent& event)> network;
};

struct ProcessInfo {
  int pid = 0;
  int ppid = 0;
  std::string command;  // its words with blanks between them, its first bytes
  char state = 'R';     // as ps says it: R, S, T, Z
  std::chrono::nanoseconds cpu{0};
  std::uint64_t memory_bytes = 0;
  std::chrono::nanoseconds age{0};

  static constexpr std::size_t command_limit_bytes = 1024;
};

}  // namespace cloche
