// SPDX-License-Identifier: Apache-2.0
#include "sandbox/native/native_shell.h"

#include <fmt/format.h>

#include <csignal>
#include <utility>

#include "sandbox/exit_codes.h"
#include "sandbox/native/native_backend.h"
#include "sandbox/shell_frame.h"

namespace cloche::sandbox {
namespace {

RunResult never_begun(RunStatus status) {
  RunResult result = cancelled_before_it_began("the command");
  result.status = status;
  result.signal = SIGKILL;
  if (status != RunStatus::killed) result.reason = "the shell was ended as it began";
  return result;
}

std::string reason_of(Errno error) {
  switch (error) {
    case Errno::perm: return "it was larger than 16 MiB";
    case Errno::pipe: return "it ended before its state was written";
    case Errno::notsup: return "it shared memory with other processes, or its addresses were taken";
    default: return "its state could not be written";
  }
}

}  // namespace

// --- Before a run

bool NativeShell::is_cancelled(const RunOptions& options, std::uint64_t cancellations) const {
  return sandbox_.cancelled_since(cancellations) || options.stop.stop_requested();
}

std::shared_ptr<ShellImage> NativeShell::image_to_go_on_from() {
  const MutexLock lock(save_mutex_);
  if (live_ && !image_is_old_.empty()) {
    trouble_ = fmt::format("the shell had ended, and is not as the last run left it: {}",
                           std::exchange(image_is_old_, {}));
  }
  if (!image_ || !image_->seal()) image_.reset();
  applied_ = image_ ? image_applied_ : sandbox_.environment();
  return image_;
}

// A shell that has ended is restored from its image; one that cannot go on from that begins anew.
NativeShell::Shell NativeShell::ensure() {
  if (is_text_) return Shell::text;
  end_save();
  if (live_ && !live_->has_ended()) return Shell::live;
  const std::shared_ptr<ShellImage> image = image_to_go_on_from();
  live_.reset();
  if (!image) live_ = sandbox_.early_starts().take_shell();
  if (live_) return Shell::live;
  Result<std::unique_ptr<LiveShell>> made = LiveShell::start(sandbox_, image ? image->file() : -1);
  bool is_alive = made && (*made)->is_alive();
  if (!is_alive && image && !(made && (*made)->was_killed())) {
    trouble_ = "the shell could not go on from its state, and began anew";
    applied_ = sandbox_.environment();
    {
      const MutexLock lock(save_mutex_);
      image_.reset();
    }
    made = LiveShell::start(sandbox_, -1);
    is_alive = made && (*made)->is_alive();
  }
  if (is_alive) {
    live_ = *std::move(made);
    return Shell::live;
  }
  if (made && (*made)->was_killed()) return Shell::ended_at_once;
  is_text_ = true;
  return Shell::text;
}

void NativeShell::drop_forgotten() {
  const MutexLock lock(set_mutex_);
  const MutexLock save_lock(save_mutex_);
  for (const std::string& name : forgotten_) {
    applied_.erase(name);
    image_applied_.erase(name);
  }
  forgotten_.clear();
}

std::string NativeShell::frame_of(const RunOptions& options, const Variables& current) {
  Variables to_set;
  for (const auto& [name, value] : current) {
    const auto applied = applied_.find(name);
    if (applied == applied_.end() || applied->second != value) to_set.emplace(name, value);
  }
  return shell_frame(options, options.cwd.empty() ? std::string() : sandbox_.folder_of(options),
                     to_set);
}

// --- Runs

RunResult NativeShell::run(const RunOptions& options) {
  const std::uint64_t cancellations = sandbox_.cancellations();
  sandbox_.tell_use(FirstUse::shell);
  const MutexLock lock(mutex_);
  if (is_cancelled(options, cancellations)) return never_begun(RunStatus::killed);
  const Shell shell = ensure();
  if (shell == Shell::ended_at_once) {
    return never_begun(is_cancelled(options, cancellations) ? RunStatus::killed
                                                            : RunStatus::signaled);
  }
  RunResult result = shell == Shell::text ? text_.run(options) : run_live(options, cancellations);
  if (result.status == RunStatus::not_started && sandbox_.script_shell() != "bash") {
    result.reason =
        "the image has no bash, which a shell that stays is: run scripts in shells of their own, "
        "or add bash to the image with `cloche image commit`";
  }
  if (result.reason.empty()) result.reason = std::exchange(trouble_, {});
  return result;
}

RunResult NativeShell::run_live(const RunOptions& options, std::uint64_t cancellations) {
  drop_forgotten();
  Variables current = sandbox_.environment();
  RunOptions named = options;
  named.argv = {"bash"};
  NativeCommand::Plan plan = sandbox_.plan_of(named);
  plan.shell = live_.get();
  plan.frame = frame_of(options, current);
  NativeCommand command(sandbox_.box(), sandbox_.timers(), std::move(plan));
  RunResult result = sandbox_.result_of(command, options, cancellations);
  if (result.status == RunStatus::not_started && sandbox_.refusal_of(options.account) != 0)
    return result;
  // The cancel came before the turn had begun, and ended the shell.
  if (result.status == RunStatus::not_started && is_cancelled(options, cancellations))
    result = never_begun(RunStatus::killed);
  if (!command.has_lost_shell()) {
    applied_ = std::move(current);
    begin_save();
    return result;
  }
  if (result.status == RunStatus::exited) {
    result.reason =
        "the script ended the shell, or replaced it by another program (exec); the next one has "
        "the shell as it was before";
  }
  (void)live_->awaits_end();
  return result;
}

// --- Images

void NativeShell::begin_save() {
  const MutexLock lock(save_mutex_);
  if (!other_ || other_.use_count() != 1 || !other_->is_reusable()) {
    other_.reset();
    Result<ShellImage> made = ShellImage::make();
    if (made) other_ = std::make_shared<ShellImage>(*std::move(made));
  }
  if (!other_ || !live_->begin_save(other_->file())) {
    image_is_old_ = reason_of(Errno::io);
    return;
  }
  saver_ = live_.get();
  saving_ = std::move(other_);
  saving_applied_ = applied_;
}

void NativeShell::end_save() {
  const MutexLock lock(save_mutex_);
  if (saver_ == nullptr) return;
  const Result<void> saved = std::exchange(saver_, nullptr)->end_save();
  if (!saved) {
    image_is_old_ = reason_of(saved.error());
    other_ = std::move(saving_);
    return;
  }
  other_ = std::exchange(image_, std::move(saving_));
  image_applied_ = std::move(saving_applied_);
  image_is_old_.clear();
}

void NativeShell::settle() {
  if (!sandbox_.is_paused()) end_save();
}

void NativeShell::restart() {
  const MutexLock lock(mutex_);
  text_.restart();
  end_save();
  const MutexLock save_lock(save_mutex_);
  image_.reset();
  image_is_old_.clear();
  if (live_) live_->leave();
  live_.reset();
}

void NativeShell::set_variable(const std::string& name, const std::string& value) {
  text_.set_variable(name, value);
  const MutexLock lock(set_mutex_);
  forgotten_.insert(name);
}

NativeShell::Passed NativeShell::pass_on() {
  const MutexLock lock(mutex_);
  Passed passed;
  passed.is_text = is_text_;
  passed.text = text_.pass_on();
  settle();
  drop_forgotten();
  const MutexLock save_lock(save_mutex_);
  passed.reason = saver_ == nullptr ? image_is_old_ : "the sandbox was paused when it was forked";
  if (!image_) return passed;
  if (image_->seal()) {
    passed.image = image_;
    passed.applied = image_applied_;
  } else {
    passed.reason = reason_of(Errno::io);
    image_.reset();
  }
  return passed;
}

void NativeShell::go_on_as(Passed passed) {
  const MutexLock lock(mutex_);
  is_text_ = passed.is_text;
  text_.go_on_as(std::move(passed.text));
  const MutexLock save_lock(save_mutex_);
  image_ = std::move(passed.image);
  image_applied_ = std::move(passed.applied);
  if (!passed.reason.empty()) {
    trouble_ = fmt::format("the shell is not in this fork as it was: {}", passed.reason);
  }
}

}  // namespace cloche::sandbox
