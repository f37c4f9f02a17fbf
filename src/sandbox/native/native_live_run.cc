// SPDX-License-Identifier: Apache-2.0
#include "sandbox/native/native_live_run.h"

#include <latch>
#include <thread>
#include <utility>

#include "base/host_thread.h"
#include "base/mutex.h"
#include "base/thread_name.h"

namespace cloche::sandbox {
namespace {

// How long a command whose terminal or input is gone may take to end by itself.
constexpr std::chrono::milliseconds farewell{500};

class NativeLiveRun final : public LiveRunState {
 public:
  NativeLiveRun(NativeBackend& sandbox, LiveRunOptions options)
      : sandbox_(sandbox),
        options_(std::move(options)),
        cancellations_(sandbox.cancellations()),
        // Before the command: what has been started has somebody who sees to its end.
        thread_(host_thread("a command", [this] {
          name_thread("cloche-command");
          begun_.wait();
          if (command_) drive();
        })) {
    try {
      command_.emplace(sandbox.box(), sandbox.timers(), plan());
    } catch (...) {
      begun_.count_down();
      thread_.join();
      throw;
    }
    begun_.count_down();
  }

  ~NativeLiveRun() override {
    command_->hang_up();
    if (!wait_for(farewell)) kill();
    thread_.join();
  }
  NativeLiveRun(const NativeLiveRun&) = delete;
  NativeLiveRun& operator=(const NativeLiveRun&) = delete;

  Result<std::size_t> write(std::string_view bytes) override { return command_->write(bytes); }

  Result<void> write_all(std::string_view bytes) override {
    while (!bytes.empty()) {
      CLOCHE_ASSIGN(const std::size_t taken, command_->write(bytes));
      bytes.remove_prefix(taken);
      if (bytes.empty()) break;
      const MutexLock lock(mutex_);
      changed_.wait(mutex_, [&]() REQUIRES(mutex_) { return result_ || !command_->starved(); });
      if (result_) return Errno::pipe;
    }
    return {};
  }

  void close_input() override { command_->close_input(); }
  void resize(const TerminalSize& size) override { command_->resize(size); }
  Result<void> signal(int number) override { return command_->signal(number); }
  void kill() override { command_->kill(); }

  int pid() noexcept override {
    const MutexLock lock(mutex_);
    changed_.wait(mutex_, [this]() REQUIRES(mutex_) { return pid_.has_value(); });
    return *pid_;
  }

  std::optional<RunResult> wait_for(std::optional<std::chrono::milliseconds> limit) override {
    const MutexLock lock(mutex_);
    const auto ended = [this]() REQUIRES(mutex_) { return result_.has_value(); };
    if (!limit) {
      changed_.wait(mutex_, ended);
    } else if (!changed_.wait_for(mutex_, *limit, ended)) {
      return std::nullopt;
    }
    return result_;
  }

 private:
  NativeCommand::Plan plan() {
    RunOptions& run = options_.command;
    if (options_.terminal) run.environment.try_emplace("TERM", options_.terminal_type);
    NativeCommand::Plan plan;
    plan.spec = sandbox_.spec_of(run);
    plan.refusal = sandbox_.refusal_of(run.account);
    if (run.script.empty() && run.argv.empty())
      plan.spec.arguments = {sandbox_.script_shell(), "-l"};
    if (options_.terminal) {
      const TerminalSize& size = *options_.terminal;
      plan.spec.terminal =
          warden::TerminalShape{size.rows, size.columns, size.width_pixels, size.height_pixels};
      if (!options_.terminal_variable.empty()) name_terminal(plan.spec);
    }
    plan.input = run.stdin_data;
    plan.is_live = true;
    plan.until_streams_end = options_.end == LiveRunOptions::End::of_streams && !options_.terminal;
    plan.timeout = run.timeout.value_or(std::chrono::milliseconds(0));
    plan.output_limit_bytes = run.output_limit_bytes;
    plan.output = run.output;
    plan.clean_out = sandbox_.clean_output(options_.terminal ? net::StreamScrubber::Holding::longer
                                                             : net::StreamScrubber::Holding::all);
    plan.clean_err = sandbox_.clean_output();
    plan.spec.tells_start = true;
    plan.on_started = [this](int pid) { set_pid(pid); };
    plan.on_room = [this] {
      if (options_.on_room) options_.on_room();
      const MutexLock lock(mutex_);
      changed_.notify_all();  // write_all waits there
    };
    return plan;
  }

  void name_terminal(native::CommandSpec& spec) const {
    const std::string name = options_.terminal_variable + "=";
    std::erase_if(spec.environment, [&](const auto& entry) { return entry.starts_with(name); });
    spec.environment.push_back(name + warden::terminal_room);
    spec.names_terminal = true;
  }

  void drive() {
    RunResult result = command_->wait();
    set_pid(0);  // unless it was started
    if (result.status == RunStatus::signaled && sandbox_.cancelled_since(cancellations_)) {
      result.status = RunStatus::killed;
      result.reason = "the command was cancelled";
    }
    if (options_.on_end) options_.on_end(result);
    const MutexLock lock(mutex_);
    result_ = std::move(result);
    changed_.notify_all();
  }

  void set_pid(int pid) {
    const MutexLock lock(mutex_);
    if (!pid_) pid_ = pid;
    changed_.notify_all();
  }

  NativeBackend& sandbox_;
  LiveRunOptions options_;
  const std::uint64_t cancellations_;
  Mutex mutex_;
  Condition changed_;
  std::optional<int> pid_ GUARDED_BY(mutex_);           // once it is known
  std::optional<RunResult> result_ GUARDED_BY(mutex_);  // once it has ended
  std::latch begun_{1};                                 // what the thread waits for
  std::optional<NativeCommand> command_;                // from then on; none: it could not be made
  std::thread thread_;
};

}  // namespace

std::unique_ptr<LiveRunState> make_native_live_run(NativeBackend& sandbox, LiveRunOptions options) {
  return std::make_unique<NativeLiveRun>(sandbox, std::move(options));
}

}  // namespace cloche::sandbox
