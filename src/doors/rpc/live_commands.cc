// SPDX-License-Identifier: Apache-2.0
#include "doors/rpc/live_commands.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "doors/rpc/methods.h"
#include "doors/rpc/streamer.h"
#include "doors/rpc/text.h"

namespace cloche::rpc {

// Characters that are not whole yet.
struct LiveCommand::Texts {
  Utf8Cutter out;
  Utf8Cutter err;
};

// --- LiveCommand --------------------------------------------------------------------------------

LiveCommand::LiveCommand(std::uint64_t number, LiveSandbox live, std::shared_ptr<Subject> subject,
                         LiveCommands& all, Sink& sink)
    : number_(number),
      sandbox_(std::move(live)),
      subject_(std::move(subject)),
      all_(all),
      sink_(sink),
      texts_(std::make_unique<Texts>()) {}

LiveCommand::~LiveCommand() { live_.reset(); }

void LiveCommand::start(LiveRunOptions options) {
  options.command.output = [this](Stream stream, std::string_view data) { print(stream, data); };
  options.on_room = [this] {
    const MutexLock lock(mutex_);
    pass_on();
  };
  options.on_end = [this](const RunResult& result) { all_.end(number_, result); };
  try {
    const MutexLock lock(mutex_);
    live_ = sandbox_.sandbox->start(std::move(options));
    if (early_signal_ != 0) (void)give(early_signal_);
    pass_on();
  } catch (const std::exception& problem) {  // the host has no thread or memory for it
    all_.end(number_, not_started(problem));
  }
}

RunResult not_started(const std::exception& problem) {
  RunResult result;
  result.status = RunStatus::not_started;
  result.exit_code = 126;
  result.reason = problem.what();
  return result;
}

// One call at a time for each stream.
void LiveCommand::print(Stream stream, std::string_view data) {
  const bool is_out = stream == Stream::out;
  std::string text = (is_out ? texts_->out : texts_->err).take(data);
  if (text.empty()) return;
  sink_.send(Sink::Kind::notice,
             server_message("command.output", {{"command", number_},
                                               {"stream", is_out ? "stdout" : "stderr"},
                                               {"data", std::move(text)}}));
}

void note_not_saved(RunResult& result, Errno why) {
  constexpr int not_saved_code = 74;  // EX_IOERR of sysexits.h, as SSH gives it
  if (result.exit_code == 0) result.exit_code = not_saved_code;
  result.reason = fmt::format("{}: {}: what was done is not saved", errno_info(why).name,
                              errno_info(why).message);
}

void LiveCommand::tell_end(RunResult result) {
  if (const Result<void> kept = subject_->keep(); !kept) note_not_saved(result, kept.error());
  sink_.send(Sink::Kind::notice,
             server_message("command.exit", {{"command", number_},
                                             {"exitCode", result.exit_code},
                                             {"signal", result.signal},
                                             {"status", commands::name_of(result.status)},
                                             {"reason", result.reason},
                                             {"stdout", texts_->out.rest()},
                                             {"stderr", texts_->err.rest()},
                                             {"executionTimeMs", milliseconds(result.duration)}}));
}

void LiveCommand::pass_on() {
  if (!live_) return;
  if (!unread_.empty()) {
    const Result<std::size_t> taken = live_->write(unread_);
    unread_.erase(0, taken ? *taken : unread_.size());
    // Nobody reads it any more.
    if (!taken) input_ended_ = true;
  }
  if (unread_.empty() && input_ended_ && !std::exchange(end_told_, true)) live_->close_input();
}

Result<void> LiveCommand::write(std::string_view bytes) {
  const MutexLock lock(mutex_);
  if (input_ended_) return Errno::pipe;
  if (unread_.size() + bytes.size() > unread_limit_bytes) return Errno::again;
  unread_.append(bytes);
  pass_on();
  subject_->keep_soon();
  return {};
}

void LiveCommand::end_input() {
  const MutexLock lock(mutex_);
  input_ended_ = true;
  pass_on();
}

Result<void> LiveCommand::signal(int number) {
  const MutexLock lock(mutex_);
  if (number < 1 || number > 64) return Errno::inval;
  if (live_) return give(number);
  early_signal_ = number;
  return {};
}

// Under mutex_.
Result<void> LiveCommand::give(int number) {
  if (number == 9) {
    live_->kill();
    return {};
  }
  return live_->signal(number);
}

// --- LiveCommands -------------------------------------------------------------------------------

LiveCommands::~LiveCommands() { stop(); }

std::shared_ptr<LiveCommand> LiveCommands::add(LiveSandbox live, std::shared_ptr<Subject> subject) {
  const MutexLock lock(mutex_);
  if (stopping_ || commands_.size() >= limit) {
    throw RpcError{code::sandbox_error,
                   fmt::format("EAGAIN: a connection talks with {} commands at most", limit)};
  }
  auto command =
      std::make_shared<LiveCommand>(++last_, std::move(live), std::move(subject), *this, sink_);
  commands_.emplace(last_, command);
  return command;
}

std::shared_ptr<LiveCommand> LiveCommands::find(std::uint64_t number) const {
  const MutexLock lock(mutex_);
  const auto found = commands_.find(number);
  return found == commands_.end() ? nullptr : found->second;
}

// Also from a callback of the command itself: what waits for its end is done elsewhere.
void LiveCommands::end(std::uint64_t number, const RunResult& result) {
  std::shared_ptr<LiveCommand> command;
  {
    const MutexLock lock(mutex_);
    const auto found = commands_.find(number);
    if (found == commands_.end()) return;
    command = std::move(found->second);
    commands_.erase(found);
  }
  pool_.post([command = std::move(command), result = result]() mutable {
    command->tell_end(std::move(result));
    command.reset();
  });
}

void LiveCommands::stop_in(const Sandbox& sandbox) {
  std::vector<std::shared_ptr<LiveCommand>> those;
  {
    const MutexLock lock(mutex_);
    for (const auto& [number, command] : commands_) {
      if (command->is_in(sandbox)) those.push_back(command);
    }
  }
  for (const auto& command : those) (void)command->signal(9);
}

void LiveCommands::stop() {
  std::map<std::uint64_t, std::shared_ptr<LiveCommand>> all;
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
    all.swap(commands_);
  }
  for (const auto& [number, command] : all) (void)command->signal(9);
}

}  // namespace cloche::rpc
