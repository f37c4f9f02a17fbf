// SPDX-License-Identifier: Apache-2.0
#include "sandbox/kept_shell.h"

#include <fmt/format.h>

#include "sandbox/command.h"
#include "sandbox/input_pump.h"
#include "sandbox/sandbox_state.h"
#include "sandbox/shell_frame.h"

namespace cloche::sandbox {
namespace {

std::string frame_of(const SandboxState& state, const RunOptions& options,
                     const std::map<std::string, std::string>& to_set) {
  return shell_frame(options, options.cwd.empty() ? std::string() : directory_of(state, options),
                     to_set);
}

constexpr std::chrono::seconds time_to_read{10};

// A script of the host's own.
ShellTurn turn_of(SandboxState& state, std::string_view script, const kernel::HostCapture& output) {
  RunOptions options;
  options.script = script;
  const kernel::HostCapture nowhere(state.kernel(), 0);
  return {frame_of(state, options, {}),
          false,
          {std::make_shared<kernel::BytesFile>(state.kernel(), std::string()), output.guest_end(),
           nowhere.guest_end()}};
}

// What one run gives the shell to read and to write to.
class Ports {
 public:
  Ports(SandboxState& state, const RunOptions& options)
      : kernel_(state.kernel()), options_(options) {
    outputs_.out = make_output(state, options, Stream::out);
    outputs_.err = make_output(state, options, Stream::err);
    if (options.stdin_fd >= 0)
      input_ = std::make_unique<kernel::HostPipe>(kernel_, kernel::HostPipe::Flow::to_guest);
  }

  // Nothing fails once the turn has them.
  std::array<kernel::FilePtr, 3> files() {
    kernel::FilePtr in = input_ ? input_->guest_end()
                                : std::make_shared<kernel::BytesFile>(kernel_, options_.stdin_data);
    if (input_) pump_ = std::make_unique<InputPump>(options_.stdin_fd, *input_);
    return {std::move(in), outputs_.out.port->guest_end(), outputs_.err.port->guest_end()};
  }

  // Once the turn has the files.
  void start() {
    outputs_.release_guest_ends();
    if (input_) input_->release_guest_end();
  }

  void collect(RunResult& result, kernel::JobId job) {
    let_settle(kernel_, job, outputs_);
    pump_.reset();
    input_.reset();
    take_output(outputs_.out, options_, Stream::out, result);
    take_output(outputs_.err, options_, Stream::err, result);
  }

 private:
  kernel::Kernel& kernel_;
  const RunOptions& options_;
  Outputs outputs_;
  std::unique_ptr<kernel::HostPipe> input_;
  std::unique_ptr<InputPump> pump_;
};

}  // namespace

class KeptShell::TurnHolder {
 public:
  explicit TurnHolder(KeptShell& shell) : shell_(shell), has_turn_(true) {
    const MutexLock lock(shell_.queue_mutex_);
    const std::uint64_t ticket = shell_.last_ticket_++;
    shell_.queue_changed_.wait(shell_.queue_mutex_, [&]() REQUIRES(shell_.queue_mutex_) {
      return shell_.served_ == ticket;
    });
  }
  // Without a turn where others have it, or wait for it, for all that time.
  TurnHolder(KeptShell& shell, std::chrono::milliseconds patience) : shell_(shell) {
    const MutexLock lock(shell_.queue_mutex_);
    has_turn_ = shell_.queue_changed_.wait_for(
        shell_.queue_mutex_, patience,
        [&]() REQUIRES(shell_.queue_mutex_) { return shell_.served_ == shell_.last_ticket_; });
    if (has_turn_) ++shell_.last_ticket_;
  }
  ~TurnHolder() {
    if (!has_turn_) return;
    const MutexLock lock(shell_.queue_mutex_);
    ++shell_.served_;
    shell_.queue_changed_.notify_all();
  }
  TurnHolder(const TurnHolder&) = delete;
  TurnHolder& operator=(const TurnHolder&) = delete;
  explicit operator bool() const noexcept { return has_turn_; }

 private:
  KeptShell& shell_;
  bool has_turn_ = false;
};

RunResult KeptShell::run(const RunOptions& options) {
  const std::uint64_t cancellations = state_.cancellations();
  const TurnHolder place(*this);
  const auto begin = std::chrono::steady_clock::now();
  RunResult result;
  if (state_.cancelled_since(cancellations) || options.stop.stop_requested()) {
    result = ended_before_begin(state_, options, Errno::intr, std::chrono::milliseconds(0),
                                Cancelled::yes);
  } else if (const Result<void> there = check_start(options); !there) {
    result = not_started(state_, options, there.error());
  } else if (const Result<void> started = ensure_process(options.stop); !started) {
    const bool cancelled = state_.cancelled_since(cancellations) || options.stop.stop_requested();
    result = ended_before_begin(state_, options, started.error(), std::chrono::milliseconds(0),
                                cancelled ? Cancelled::yes : Cancelled::no);
  } else {
    result = run_now(options, cancellations);
  }
  if (!trouble_.empty() && result.reason.empty()) result.reason = std::move(trouble_);
  trouble_.clear();
  result.duration = std::chrono::steady_clock::now() - begin;
  return result;
}

Result<void> KeptShell::check_start(const RunOptions& options) const {
  if (options.cwd.empty()) return {};
  return check_directory(state_, options);
}

Result<void> KeptShell::ensure_process(const std::stop_token& stop) {
  if (process_ && !process_->gone()) return {};
  if (process_) resting_ = process_->resting();
  process_.reset();
  if (!resting_) applied_.clear();
  CLOCHE_TRY(ShellProcess::make_ready(state_.kernel(), stop));
  CLOCHE_ASSIGN(process_, ShellProcess::start(
                              state_.kernel(), state_.home(),
                              resting_ ? resting_ : state_.engine().started_shells().find(state_)));
  resting_.reset();
  if (!text_) return {};
  if (!read_text()) {
    trouble_ = "the shell as it was saved cannot be restored: this is a new one";
    CLOCHE_ASSIGN(process_, ShellProcess::start(state_.kernel(), state_.home(), nullptr));
  }
  text_.reset();
  return {};
}

// Into a shell that has just started.
bool KeptShell::read_text() {
  const kernel::HostCapture nowhere(state_.kernel(), 0);
  ShellTurn turn = turn_of(state_, text_->script, nowhere);
  const ShellTurnResult end = process_->run(std::move(turn), time_to_read, {});
  if (!end.exit_code || process_->gone()) return false;
  applied_ = std::move(text_->environment);
  return true;
}

Result<std::optional<ShellText>> KeptShell::text(std::chrono::milliseconds time) {
  if (time == std::chrono::milliseconds(0)) {
    const TurnHolder place(*this, time);
    return place ? known_text() : std::nullopt;
  }
  const TurnHolder place(*this, time);
  if (!place) return Errno::timedout;
  if (std::optional<ShellText> known = known_text()) return known;
  std::shared_ptr<const RestingShell> shell = process_ ? process_->resting() : resting_;
  if (!shell) return std::optional<ShellText>();
  CLOCHE_ASSIGN(std::string script, write_text(shell, time));
  written_ = ShellText{applied_, std::move(script)};
  written_version_ = shell->version;
  return written_;
}

std::optional<ShellText> KeptShell::known_text() {
  drop_forgotten();
  if (text_) return text_;
  // The shell's image may have to be made first, which is not done for nothing.
  if (!written_ || written_->environment != applied_) return std::nullopt;
  const auto shell = process_ ? process_->resting() : resting_;
  return shell && shell->version == written_version_ ? written_ : std::nullopt;
}

// By a copy, of which nothing is left.
Result<std::string> KeptShell::write_text(const std::shared_ptr<const RestingShell>& shell,
                                          std::chrono::milliseconds time) {
  kernel::HostCapture output(state_.kernel(), shell_text_max_bytes);
  CLOCHE_ASSIGN(std::unique_ptr<ShellProcess> copy,
                ShellProcess::start(state_.kernel(), state_.home(), shell));
  const ShellTurnResult end = copy->run(turn_of(state_, write_shell_text, output), time, {});
  copy.reset();
  if (end.overdue) return Errno::timedout;
  kernel::HostCapture::Output got = output.finish();
  if (got.truncated()) return Errno::fbig;
  if (!end.exit_code || !got.bytes.ends_with(shell_text_end) ||
      got.bytes.find('\0') != std::string::npos)
    return Errno::io;
  return std::move(got.bytes);
}

void KeptShell::go_on_from(ShellText text) {
  const TurnHolder place(*this);
  process_.reset();
  resting_.reset();
  text_ = std::move(text);
}

void KeptShell::restart() {
  const TurnHolder place(*this);
  process_.reset();
  resting_.reset();
  applied_.clear();
  text_.reset();
}

void KeptShell::forget(const std::string& name) {
  const MutexLock lock(forgotten_mutex_);
  forgotten_.insert(name);
}

void KeptShell::drop_forgotten() {
  const MutexLock lock(forgotten_mutex_);
  for (const std::string& name : forgotten_) {
    applied_.erase(name);
    if (text_) text_->environment.erase(name);
  }
  forgotten_.clear();
}

KeptShell::Environment KeptShell::environment() {
  drop_forgotten();
  Environment environment;
  environment.current = state_.environment();
  for (const auto& [name, value] : environment.current) {
    const auto applied = applied_.find(name);
    if (applied == applied_.end() || applied->second != value)
      environment.to_set.emplace(name, value);
  }
  return environment;
}

RunResult KeptShell::run_now(const RunOptions& options, std::uint64_t cancellations) {
  const std::chrono::milliseconds limit = options.timeout.value_or(state_.options().timeout);
  Environment environment = this->environment();
  Ports ports(state_, options);
  ShellTurn turn{frame_of(state_, options, environment.to_set), !environment.to_set.empty(),
                 ports.files()};
  ports.start();
  const ShellTurnResult end = process_->run(std::move(turn), limit, options.stop);

  RunResult result;
  if (end.exit_code) {
    result.exit_code = *end.exit_code;
    applied_ = std::move(environment.current);
  } else if (end.stopped) {
    set_ended(result, end.status, *process_->process(), Cancelled::yes);
  } else if (end.overdue) {
    set_timed_out(result, limit);
  } else {
    set_ended(result, end.status, *process_->process(),
              state_.cancelled_since(cancellations) ? Cancelled::yes : Cancelled::no);
    if (result.status == RunStatus::exited) {
      result.reason = fmt::format(
          "the script {}; the next one has the shell as it was before",
          end.replaced ? "replaced the shell by another program (exec)" : "ended the shell");
    }
  }
  ports.collect(result, end.job);
  result.figures = state_.shown_figures().take(end.job);
  return result;
}

void KeptShell::pass_on(const std::function<KeptShell&()>& fork) {
  const TurnHolder place(*this);
  KeptShell& twin = fork();
  twin.resting_ = process_ ? process_->resting() : resting_;
  drop_forgotten();
  if (twin.resting_) twin.applied_ = applied_;
  twin.text_ = text_;
  twin.written_ = written_;
  twin.written_version_ = written_version_;
}

}  // namespace cloche::sandbox
