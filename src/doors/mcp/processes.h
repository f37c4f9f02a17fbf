// SPDX-License-Identifier: Apache-2.0
// Processes: the commands that a sandbox runs in the background, with what they have written that
// nobody has taken yet. Thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "doors/mcp/own_sandbox.h"

namespace cloche::mcp {

class Processes {
 public:
  static constexpr std::size_t running_limit = 32;
  static constexpr std::size_t ended_limit = 64;       // beyond it the oldest are forgotten
  static constexpr std::size_t kept_bytes = 1U << 20;  // of each stream; the newest

  struct Status {
    std::string id;
    std::string command;
    bool running = false;
    std::optional<int> exit_code;  // once it has ended
  };
  // Output since it was last taken.
  struct Output {
    Status status;
    std::string out;
    std::string err;
    std::uint64_t dropped_bytes = 0;  // of both, older than what is here
  };

  Processes() = default;
  ~Processes() { end_all(); }
  Processes(const Processes&) = delete;
  Processes& operator=(const Processes&) = delete;

  // The functions throw ToolError. Starts one, which keeps the sandbox there; gives its id.
  std::string start(const LiveSandbox& live, RunOptions command);
  std::vector<Status> list() const;
  // Waits for output or the end, `wait` at most, and until it is asked to stop.
  Output take_output(const std::string& id, std::chrono::milliseconds wait,
                     const std::stop_token& stop);
  // Gives it input; waits for room, `patience` at most, and until it is asked to stop.
  Status give_input(const std::string& id, std::string_view text, bool close,
                    const std::stop_token& stop);
  Status kill(const std::string& id);
  // Kills and forgets all; further ones are refused.
  void end_all();

 private:
  struct Process;
  std::shared_ptr<Process> find(const std::string& id) const;
  void forget_ended() REQUIRES(mutex_);

  mutable Mutex mutex_;
  std::map<std::uint64_t, std::shared_ptr<Process>> processes_ GUARDED_BY(mutex_);
  std::uint64_t last_ GUARDED_BY(mutex_) = 0;
  bool closed_ GUARDED_BY(mutex_) = false;
};

}  // namespace cloche::mcp
