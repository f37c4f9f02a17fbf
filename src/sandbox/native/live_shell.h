// SPDX-License-Identifier: Apache-2.0
// LiveShell: one bash of a box that stays, and runs one script after the other. It is the image's
// own, into which it loads the library of src/native/shell, or one that goes on from the image that
// another has written of itself.
//
// All that comes from it is a guest's word. What it starts is told apart by turns, which pid 1
// counts (warden::Order::turn), so that the end of one turn is not that of what earlier ones have
// left.
//
// Threads: one at a time, but for kill_turn(). Destroying it ends it, and where it has not ended by
// itself before, what it has started.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
#include "native/host/box.h"
#include "native/shell/shell_wire.h"

namespace cloche::sandbox {

class NativeBackend;

class LiveShell {
 public:
  // `image`: what it goes on from; -1: it begins.
  static Result<std::unique_ptr<LiveShell>> start(NativeBackend& sandbox, int image);
  LiveShell(const LiveShell&) = delete;
  LiveShell& operator=(const LiveShell&) = delete;

  // Waits for its first word. False: it is none.
  bool is_alive();
  // Between two turns.
  bool has_ended();
  // By a signal, or with its box.
  bool was_killed() { return has_ended() && was_killed_; }
  // Gives it a while. False: it goes on.
  bool awaits_end();
  // It ends by itself, so that what it has started goes on.
  void leave();

  // The frame is as shell_wire.h has it; three descriptors. EPIPE: it has ended.
  Result<void> begin_turn(const std::string& frame, std::span<const int> files);
  // Readable when read_answer() has something; -1: it says nothing any more.
  int answers() const noexcept { return control_.get(); }
  // What it says of the turn. Nothing: not yet, or never again.
  std::optional<shell::Answer> read_answer();
  // Whether it has said that the turn is over, and nobody has read that yet.
  bool has_said_end() const noexcept;
  std::uint32_t turn() const noexcept { return turn_; }
  native::Command& command() noexcept { return *command_; }
  // What command().receive() has given to somebody else.
  void hear(const Result<std::optional<warden::Answer>>& heard) noexcept;
  // Thread-safe, while a turn is in progress.
  void kill_turn() { command_->kill_turn(turn_); }

  // It writes an image of itself into the file, at once.
  Result<void> begin_save(int file);
  // How that went. EPIPE: it has ended; EIO: it does what it should not, and has been ended.
  Result<void> end_save();

 private:
  LiveShell() = default;
  void prepare_turn();
  Result<void> send(const shell::Request& request, std::string_view frame,
                    std::span<const int> files);
  // Waits. Nothing: it has ended, or does not answer.
  std::optional<shell::Answer> next_answer();

  std::unique_ptr<native::Command> command_;
  UniqueFd control_;
  std::uint32_t turn_ = 0;  // in progress, or to come
  bool is_prepared_ = false;
  bool is_ready_ = false;
  bool has_ended_ = false;
  bool was_killed_ = false;
};

}  // namespace cloche::sandbox
