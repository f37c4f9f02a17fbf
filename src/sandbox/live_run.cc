// SPDX-License-Identifier: Apache-2.0
#include "sandbox/live_run.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/host_thread.h"
#include "base/thread_name.h"
#include "kernel/files/pipe.h"
#include "kernel/kernel.h"
#include "kernel/process/signal.h"
#include "kernel/terminals/terminal.h"
#include "sandbox/departure.h"
#include "sandbox/sandbox_state.h"

namespace cloche::sandbox {
namespace {

// How long a command whose terminal or input is gone may take to end by itself.
constexpr std::chrono::milliseconds farewell{500};
// Of input without a terminal: with a small pipe the client and the command take turns, a switch of
// threads for each piece.
constexpr std::uint32_t input_bytes = 1 << 20;
constexpr char end_of_file = 4;  // Ctrl-D

kernel::tty::WindowSize window_of(const TerminalSize& size) {
  return {size.rows, size.columns, size.width_pixels, size.height_pixels};
}

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

}  // namespace

WasmLiveRun::WasmLiveRun(SandboxState& state, LiveRunOptions options)
    : state_(state),
      kernel_(state.kernel()),
      options_(std::move(options)),
      cancellations_(state.cancellations()),
      begin_(std::chrono::steady_clock::now()),
      clock_(std::make_shared<kernel::RunClock>(
          options_.command.timeout.value_or(std::chrono::milliseconds(0)), begin_)),
      process_(kernel_.mutex()) {
  // Before the command: what has been started has somebody who sees to its end.
  thread_ = host_thread("a command", [this] {
    name_thread("cloche-command");
    begun_.wait();
    if (!abandoned_) drive();
  });
  try {
    begin();
  } catch (...) {
    abandoned_ = true;
    begun_.count_down();
    thread_.join();
    throw;
  }
  begun_.count_down();
}

void WasmLiveRun::begin() {
  Result<kernel::ProcessPtr> process = start();
  release_guest_ends();
  if (process) {
    const kernel::KernelLock lock(kernel_.mutex());
    process_.hold(*std::move(process));
    typed_ = std::move(options_.command.stdin_data);
    pass_on_typed();
  } else {
    const bool cancelled =
        state_.cancelled_since(cancellations_) || options_.command.stop.stop_requested();
    result_ = ended_before_begin(state_, options_.command, process.error(),
                                 options_.command.timeout.value_or(std::chrono::milliseconds(0)),
                                 cancelled ? Cancelled::yes : Cancelled::no);
  }
}

WasmLiveRun::~WasmLiveRun() {
  if (terminal_) {
    terminal_->hang_up();
  } else if (process_) {
    close_input();
    const kernel::KernelLock lock(kernel_.mutex());
    (void)kernel_.post(*process_, {.signo = kernel::sighup, .code = kernel::si_kernel});
  }
  if (!wait_for(farewell)) kill();
  thread_.join();
}

Result<kernel::ProcessPtr> WasmLiveRun::start() {
  if (options_.terminal) CLOCHE_TRY(make_terminal());
  CLOCHE_ASSIGN(kernel::SpawnRequest request, live_command_request(state_, options_.command));
  request.clock = clock_;
  request.stop = options_.command.stop;
  CLOCHE_TRY(make_ports(request));
  return kernel_.spawn(std::move(request));
}

// Before the environment is made up, which names it.
Result<void> WasmLiveRun::make_terminal() {
  screen_ = state_.clean_output(net::StreamScrubber::Holding::longer);
  CLOCHE_ASSIGN(terminal_, kernel::HostTerminal::create(kernel_, window_of(*options_.terminal)));
  std::map<std::string, std::string>& environment = options_.command.environment;
  environment.try_emplace("TERM", options_.terminal_type);
  if (!options_.terminal_variable.empty()) {
    environment[options_.terminal_variable] =
        "/dev/pts/" + std::to_string(terminal_->terminal()->number());
  }
  return {};
}

Result<void> WasmLiveRun::make_ports(kernel::SpawnRequest& request) {
  if (terminal_) {
    request.terminal = terminal_->terminal();
    for (const std::int32_t fd : {0, 1, 2}) request.files[fd] = terminal_->guest_end();
    return {};
  }
  input_ = std::make_unique<kernel::HostPipe>(kernel_, kernel::HostPipe::Flow::to_guest);
  {
    const kernel::KernelLock lock(kernel_.mutex());
    (void)input_->pipe().set_capacity(input_bytes);
  }
  outputs_.out = make_output(state_, options_.command, Stream::out);
  outputs_.err = make_output(state_, options_.command, Stream::err);
  request.files[0] = input_->guest_end();
  request.files[1] = outputs_.out.port->guest_end();
  request.files[2] = outputs_.err.port->guest_end();
  return {};
}

void WasmLiveRun::release_guest_ends() {
  if (terminal_) terminal_->release_guest_end();
  if (input_) input_->release_guest_end();
  outputs_.release_guest_ends();
}

// --- The thread

void WasmLiveRun::drive() {
  if (process_) {
    watch();
    const std::optional<kernel::WaitStatus> status = kernel_.wait_for(process_.get(), std::nullopt);
    if (options_.end == LiveRunOptions::End::of_streams && status->is_exited()) await_streams();
    let_settle(kernel_, process_->job, outputs_);
    bool killed = false;
    bool timed_out = false;
    {
      const kernel::KernelLock lock(kernel_.mutex());
      killed = killed_;
      timed_out = timed_out_;
    }
    const bool cancelled = killed || state_.cancelled_since(cancellations_);
    set_ended(result_, *status, *process_, cancelled ? Cancelled::yes : Cancelled::no);
    if (timed_out) set_timed_out(result_, *options_.command.timeout);
  }
  finish();
}

void WasmLiveRun::watch() {
  kernel::ReleasableKernelLock lock(kernel_.mutex());
  kernel::Waiter waiter;
  const std::array<kernel::WaitQueue*, 2> queues{&process_->ended, &port_changed()};
  for (;;) {
    if (pass_on_screen() || tell_of_room()) continue;
    if (process_->status) return;
    if (timed_out_ || !clock_->is_over()) {
      (void)waiter.sleep(kernel_.mutex(), queues, timed_out_ ? std::nullopt : clock_->next_look());
      continue;
    }
    timed_out_ = true;
    lock.unlock();
    kernel_.signal_job(process_->job, kernel::sigkill);
    lock.lock();
  }
}

void WasmLiveRun::await_streams() {
  if (terminal_) return;
  kernel::ReleasableKernelLock lock(kernel_.mutex());
  kernel::Waiter waiter;
  const auto [out_closed, err_closed] = outputs_.closed();
  const std::array<kernel::WaitQueue*, 3> queues{out_closed, err_closed, &killed_changed_};
  while (outputs_.are_open() && !killed_ && !timed_out_) {
    if (!clock_->is_over()) {
      (void)waiter.sleep(kernel_.mutex(), queues, clock_->next_look());
      continue;
    }
    timed_out_ = true;
    lock.unlock();
    kernel_.signal_job(process_->job, kernel::sigkill);
    return;
  }
}

// One piece of what the terminal shows, without the lock. False when there is none.
bool WasmLiveRun::pass_on_screen() {
  if (!terminal_) return false;
  std::array<char, 16384> text;
  const Result<std::size_t> taken =
      terminal_->terminal()->take_screen(std::as_writable_bytes(std::span(text)));
  if (!taken) return false;
  const std::string_view shown(text.data(), *taken);
  const kernel::KernelUnlocked unlocked(kernel_.mutex());
  screen_.pass(shown, [this](std::string_view clean) { show(clean); });
  return true;
}

void WasmLiveRun::show(std::string_view text) {
  if (options_.command.output) {
    options_.command.output(Stream::out, text);
    return;
  }
  const std::uint64_t room = options_.command.output_limit_bytes - result_.stdout_data.size();
  result_.stdout_data +=
      text.substr(0, static_cast<std::size_t>(std::min<std::uint64_t>(room, text.size())));
  result_.stdout_truncated |= text.size() > room;
}

bool WasmLiveRun::tell_of_room() {
  if (!starved_ || !has_room()) return false;
  starved_ = false;
  pass_on_typed();
  if (!typed_.empty()) return true;
  const bool closes = input_closed_;
  const kernel::KernelUnlocked unlocked(kernel_.mutex());
  if (closes) input_->close();
  if (options_.on_room) options_.on_room();
  const MutexLock end_lock(end_mutex_);
  end_changed_.notify_all();  // write_all waits there too
  return true;
}

void WasmLiveRun::finish() {
  screen_.end([this](std::string_view clean) { show(clean); });
  take_output(outputs_.out, options_.command, Stream::out, result_);
  take_output(outputs_.err, options_.command, Stream::err, result_);
  if (process_) result_.figures = state_.shown_figures().take(process_->job);
  result_.duration = std::chrono::steady_clock::now() - begin_;
  if (options_.on_end) options_.on_end(result_);
  const MutexLock lock(end_mutex_);
  ended_ = true;
  end_changed_.notify_all();
}

// --- The caller's side

Result<std::size_t> WasmLiveRun::take_input(std::span<const std::byte> bytes) {
  std::size_t taken = 0;
  while (taken < bytes.size()) {
    const auto rest = bytes.subspan(taken);
    const Result<std::size_t> done =
        terminal_ ? terminal_->terminal()->type(rest) : input_->pipe().try_write(rest);
    if (done) {
      taken += *done;
      continue;
    }
    if (done.error() != Errno::again) return Errno::pipe;
    starved_ = true;
    break;
  }
  return taken;
}

// What was typed before the start goes before what is written after it.
void WasmLiveRun::pass_on_typed() {
  if (typed_.empty()) return;
  const Result<std::size_t> taken = take_input(bytes_of(typed_));
  typed_.erase(0, taken ? *taken : typed_.size());
}

bool WasmLiveRun::has_room() const {
  if (terminal_) return (terminal_->terminal()->poll_master() & kernel::pollout) != 0;
  // Half of it: told at each page that the command reads, the two sides would take turns with
  // little.
  const kernel::Pipe& pipe = input_->pipe();
  return (pipe.half_free() && pipe.has_room()) || pipe.readers() == 0;
}

kernel::WaitQueue& WasmLiveRun::port_changed() {
  return terminal_ ? terminal_->terminal()->master_changed : input_->pipe().writable;
}

Result<std::size_t> WasmLiveRun::write(std::string_view bytes) {
  if (!process_) return Errno::pipe;
  const kernel::KernelLock lock(kernel_.mutex());
  if (input_closed_ || process_->status) return Errno::pipe;
  if (!typed_.empty()) {
    starved_ = true;
    return std::size_t{0};
  }
  return take_input(bytes_of(bytes));
}

Result<void> WasmLiveRun::write_all(std::string_view bytes) {
  while (!bytes.empty()) {
    CLOCHE_ASSIGN(const std::size_t taken, write(bytes));
    bytes.remove_prefix(taken);
    if (bytes.empty()) break;
    const MutexLock lock(end_mutex_);
    const auto owed = [&] {
      const kernel::KernelLock kernel_lock(kernel_.mutex());
      return starved_;
    };
    end_changed_.wait(end_mutex_, [&]() REQUIRES(end_mutex_) { return ended_ || !owed(); });
    if (ended_) return Errno::pipe;
  }
  return {};
}

void WasmLiveRun::close_input() {
  if (!process_) return;
  {
    const kernel::KernelLock lock(kernel_.mutex());
    if (terminal_) {
      typed_.push_back(end_of_file);  // where there is no room it comes once there is
      return pass_on_typed();
    }
    input_closed_ = true;
    if (!typed_.empty()) return;  // once the command has taken it
  }
  input_->close();
}

void WasmLiveRun::resize(const TerminalSize& size) {
  if (terminal_) terminal_->resize(window_of(size));
}

Result<void> WasmLiveRun::signal(int number) {
  if (!kernel::valid_signal(number)) return Errno::inval;
  if (!process_) return Errno::srch;
  const kernel::KernelLock lock(kernel_.mutex());
  if (process_->status) return Errno::srch;
  kernel::Pid group = process_->pgid;
  if (terminal_ && process_->session && process_->session->foreground > 0)
    group = process_->session->foreground;
  kernel_.post_to_group(group, {.signo = number, .code = kernel::si_kernel});
  return {};
}

void WasmLiveRun::kill() {
  if (!process_) return;
  {
    const kernel::KernelLock lock(kernel_.mutex());
    if (process_->status && options_.end == LiveRunOptions::End::of_command) return;
    killed_ = true;
    killed_changed_.wake_all();
  }
  kernel_.signal_job(process_->job, kernel::sigkill);
}

std::optional<RunResult> WasmLiveRun::wait_for(std::optional<std::chrono::milliseconds> limit) {
  const MutexLock lock(end_mutex_);
  const auto ended = [this]() REQUIRES(end_mutex_) { return ended_; };
  if (!limit) {
    end_changed_.wait(end_mutex_, ended);
  } else if (!end_changed_.wait_for(end_mutex_, *limit, ended)) {
    return std::nullopt;
  }
  return result_;
}

}  // namespace cloche::sandbox

namespace cloche {

LiveRun::LiveRun(std::unique_ptr<sandbox::LiveRunState> state,
                 std::shared_ptr<const std::atomic<bool>> is_lost)
    : state_(std::move(state)), is_lost_(std::move(is_lost)) {}
LiveRun::~LiveRun() = default;

Result<std::size_t> LiveRun::write(std::string_view bytes) { return state_->write(bytes); }
Result<void> LiveRun::write_all(std::string_view bytes) { return state_->write_all(bytes); }
void LiveRun::close_input() { state_->close_input(); }
void LiveRun::resize(const TerminalSize& size) { state_->resize(size); }
Result<void> LiveRun::signal(int number) { return state_->signal(number); }
void LiveRun::kill() { state_->kill(); }

int LiveRun::pid() const noexcept { return state_->pid(); }

std::optional<RunResult> LiveRun::wait_for(std::chrono::milliseconds limit) {
  std::optional<RunResult> result = state_->wait_for(limit);
  if (result && *is_lost_) return sandbox::cancelled_run(*std::move(result));
  return result;
}

RunResult LiveRun::wait() {
  RunResult result = *state_->wait_for(std::nullopt);
  return *is_lost_ ? sandbox::cancelled_run(std::move(result)) : result;
}

}  // namespace cloche
