// SPDX-License-Identifier: Apache-2.0
// NativeCommand: a command in a box from its start to its RunResult: input, output, time limit and
// end, in one loop of the thread that waits for it. The time limit holds also while nobody takes
// its output: a command that has not ended by itself by then is killed.
//
// Threads: wait() is called once, by one thread; the rest by any.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "base/mutex.h"
#include "base/unique_fd.h"
#include "cloche/live_run.h"
#include "native/host/box.h"
#include "sandbox/clean_output.h"
#include "sandbox/native/alarm.h"

namespace cloche::sandbox {

class LiveShell;

class NativeCommand {
 public:
  struct Plan {
    native::CommandSpec spec;              // without files
    int refusal = 0;                       // an errno for which it is not started
    std::string input;                     // standard input, to its end
    int input_fd = -1;                     // or what this gives
    bool is_live = false;                  // or what write() is given, until close_input()
    bool until_streams_end = false;        // LiveRunOptions::End::of_streams
    std::chrono::milliseconds timeout{0};  // 0: none
    std::uint64_t output_limit_bytes = 0;
    OutputCallback output;                    // null: kept in the result
    CleanOutput clean_out, clean_err;         // what is passed on or kept of each
    std::function<void()> on_room;            // of a live one
    std::function<void(int pid)> on_started;  // with the id that it knows itself by
    // What the command reads as descriptor 3 and writes to 4, for the engine itself; absent: it has
    // neither.
    std::optional<std::string> side_input;
    // It is a turn of this shell, which is alive, and no command of its own: `spec` says only what
    // is named where it cannot be.
    LiveShell* shell = nullptr;
    std::string frame;  // of that
  };
  // `timers` have its time limit.
  NativeCommand(native::Box& box, kernel::TimerThread& timers, Plan plan);
  ~NativeCommand();
  NativeCommand(const NativeCommand&) = delete;
  NativeCommand& operator=(const NativeCommand&) = delete;

  RunResult wait();
  // What was written to descriptor 4; after wait(). Nothing: it was too much.
  std::optional<std::string> take_side_output();

  // Of a live one; see LiveRun.
  Result<std::size_t> write(std::string_view bytes);
  bool starved();
  void close_input();
  void resize(const TerminalSize& size);
  Result<void> signal(int number);
  void hang_up();

  // The result says `killed`. Of one that has ended what it has left goes on.
  void kill();
  // Of a turn: the shell has been asked to end with it, or has ended.
  bool has_lost_shell() const noexcept { return asked_to_end_ || killed_ || !has_answered_; }

 private:
  // `left_behind`: it has ended, and something else holds its streams, which are waited for.
  enum class Phase : std::uint8_t { running, left_behind, settling, over };
  struct Source {
    UniqueFd fd;
    Stream stream = Stream::out;
  };

  Result<void> open_streams(std::vector<int>& files, std::vector<UniqueFd>& theirs);
  Result<void> begin(const std::vector<int>& files);
  void take_terminal(UniqueFd terminal);
  native::Command& command() noexcept;
  void ask_to_end();
  void ask_late_one_to_end();
  void be_late();
  void notice_lateness();
  void hear_shell();
  bool step();
  void hear();
  void take(const warden::Answer& answer);
  bool is_waiting() const { return phase_ == Phase::running || phase_ == Phase::left_behind; }
  void settle();
  bool read_from(Source& source);
  void pass_on(Stream stream, std::string_view bytes);
  void end_output();
  void feed();
  void read_input();
  void write_input() REQUIRES(mutex_);
  // Of the terminal that is there.
  void set_size(const TerminalSize& size) REQUIRES(mutex_);
  int patience_ms() const;
  void wake() noexcept;
  void give_up_waiting();
  void conclude();

  native::Box& box_;
  Plan plan_;
  std::unique_ptr<native::Command> command_;  // null: it could not be asked for
  Source out_, err_, side_;
  UniqueFd wake_;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point phase_end_;  // of settling, or of waiting for a kill
  Phase phase_ = Phase::running;
  bool has_begun_ = false;     // from the constructor on, which sets it with the mutex held
  bool has_answered_ = false;  // the shell, of a turn
  bool asked_to_end_ = false;
  bool timed_out_ = false;
  bool told_of_start_ = false;
  bool memory_exceeded_ = false;
  bool side_too_long_ = false;
  std::string side_output_;
  std::optional<int> status_;
  RunResult result_;

  Mutex mutex_;
  UniqueFd input_ GUARDED_BY(mutex_);  // the command's: a pipe, or the terminal
  bool starved_ GUARDED_BY(mutex_) = false;
  std::optional<TerminalSize> early_size_ GUARDED_BY(mutex_);  // said before the terminal was there
  bool settled_ GUARDED_BY(mutex_) = false;  // it has ended, and what it leaves may stay
  bool ended_ GUARDED_BY(mutex_) = false;
  std::atomic<bool> killed_ = false;
  std::atomic<bool> is_late_ = false;  // its time is over, and it has been asked to end
  Alarm alarm_;                        // at the time limit
};

// For a command that could not be started, as the other engine says it.
RunResult native_not_started(const std::string& program, const std::string& directory,
                             warden::Step step, int error);

}  // namespace cloche::sandbox
