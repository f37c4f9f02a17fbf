// SPDX-License-Identifier: Apache-2.0
// LiveRun: a command that one talks with while it runs: input as it comes, output as it is written,
// and a terminal where one is wanted. What `cloche shell` and a connection by SSH stand on.
//
//   auto live = sandbox->start({.command = {.output = show}, .terminal = TerminalSize{24, 80}});
//   (void)live->write("ls\r");
//   RunResult end = live->wait();
//
// Threads: every member may be called from any thread. Callbacks come on threads of the sandbox,
// one at a time for each stream; they may call `write`, `close_input`, `resize`, `signal` and
// `kill`, nothing else. Lifetime: it must be gone before its Sandbox.
//
// Flow control. Output: the command waits while its callback runs, so a callback that waits for a
// slow reader slows the writer; input goes on meanwhile. It must return, or fail to pass its bytes
// on, when the LiveRun is destroyed or killed. Input: `write` takes what there is room for
// (1 MiB without a terminal, a line discipline's 4 KiB with one) and never waits; after a short
// write `on_room` says when there is room again.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "cloche/result.h"
#include "cloche/run.h"

namespace cloche {

namespace sandbox {
class LiveRunState;
}

struct TerminalSize {
  std::uint16_t rows = 24;
  std::uint16_t columns = 80;
  std::uint16_t width_pixels = 0;  // 0: unknown
  std::uint16_t height_pixels = 0;
};

struct LiveRunOptions {
  // As for Sandbox::run, but: with neither `script` nor `argv` it is the user's login shell; an
  // absent `timeout` means no limit; `stdin_data` is what was typed before the start, `stdin_fd`,
  // `shell` and `stop` are not used. `output` gets everything; with a terminal all of it as
  // Stream::out. Without `output` the result keeps it.
  RunOptions command = {};
  // Absent: three streams. Otherwise descriptors 0, 1 and 2 are a terminal of this size, the
  // controlling one of a session of the command's own.
  std::optional<TerminalSize> terminal = {};
  std::string terminal_type = "xterm-256color";  // TERM, where `terminal` is set
  std::string terminal_variable = {};            // gets the terminal's path there; empty: none does

  std::function<void()> on_room = {};
  // With the command, after a moment for what it has left behind and still writes; or, unless a
  // signal has ended the command, when nothing holds its streams any more.
  enum class End : std::uint8_t { of_command, of_streams } end = End::of_command;

  // Once, after the last output of the command; also for a command that could not be started.
  std::function<void(const RunResult&)> on_end = {};
};

class LiveRun {
 public:
  // A terminal is hung up (SIGHUP, as when its window is closed), input ends; a command that goes
  // on nevertheless is killed after a moment. Returns when it has ended and no callback runs.
  ~LiveRun();
  LiveRun(const LiveRun&) = delete;
  LiveRun& operator=(const LiveRun&) = delete;

  // Gives bytes to the command's input and says how many were taken. EPIPE: nobody reads it any
  // more, or close_input was called.
  Result<std::size_t> write(std::string_view bytes);
  // The same for all of the bytes; waits for room. Not from a callback.
  Result<void> write_all(std::string_view bytes);
  // End of file. A terminal has none: there it is a typed Ctrl-D.
  void close_input();

  // The window has another size: SIGWINCH. Nothing without a terminal.
  void resize(const TerminalSize& size);
  // A signal for the terminal's foreground job; without a terminal for the command and its
  // children. EINVAL for no signal, ESRCH when the command has ended.
  Result<void> signal(int number);
  // Ends the command and all that it started, at once: the result says `killed`.
  void kill();

  // Of the command, as it knows itself; 0: it could not be started.
  int pid() const noexcept;

  // The end, once it is there: nothing when `limit` is over first.
  std::optional<RunResult> wait_for(std::chrono::milliseconds limit);
  RunResult wait();

 private:
  friend class Sandbox;
  LiveRun(std::unique_ptr<sandbox::LiveRunState> state,
          std::shared_ptr<const std::atomic<bool>> is_lost);
  std::unique_ptr<sandbox::LiveRunState> state_;
  std::shared_ptr<const std::atomic<bool>> is_lost_;  // see Sandbox::begin_to_leave
};

}  // namespace cloche
