// SPDX-License-Identifier: Apache-2.0
#include "doors/rpc/client_call.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/base64.h"
#include "base/result.h"
#include "doors/rpc/client_commands.h"
#include "doors/rpc/json_reader.h"

namespace cloche::rpc {
namespace {

constexpr int status_failed = 1;
// So much is taken before the client is told of it, unless it is all.
constexpr std::size_t tell_bytes = ClientCall::unread_limit_bytes / 4;

// The result of command.invoke: `{exitCode}`, or null for 0.
std::optional<int> exit_code_of(const std::string& result) {
  const auto read = read_json(result);
  const Json* json = std::get_if<Json>(&read);
  if (json == nullptr) return std::nullopt;
  if (json->is_null()) return 0;
  if (!json->is_object()) return std::nullopt;
  const auto code = json->find("exitCode");
  if (code == json->end()) return 0;
  if (!code->is_number_integer()) return std::nullopt;
  return static_cast<int>(code->get<std::int64_t>() & 0xff);
}

}  // namespace

Result<void> ClientCall::write(Stream stream, std::string bytes) {
  const MutexLock lock(mutex_);
  if (ended_) return Errno::canceled;
  CLOCHE_TRY(written_);
  if (bytes.size() > unread_limit_bytes - output_bytes_) return Errno::again;
  if (bytes.empty()) return {};
  output_bytes_ += bytes.size();
  constexpr std::size_t small_bytes = 16 << 10;
  if (!output_.empty() && output_.back().stream == stream &&
      output_.back().bytes.size() < small_bytes) {
    output_.back().bytes += bytes;
  } else {
    output_.push_back({stream, std::move(bytes)});
  }
  if (process_ != nullptr) process_->wake();
  return {};
}

Result<void> ClientCall::want_input(std::size_t bytes) {
  const MutexLock lock(mutex_);
  if (ended_) return Errno::canceled;
  if (bytes > wanted_limit_bytes - wanted_input_) return Errno::again;
  wanted_input_ += bytes;
  if (process_ != nullptr) process_->wake();
  return {};
}

void ClientCall::answer(Connection::Answer answer) {
  const MutexLock lock(mutex_);
  if (!answer_) answer_ = std::move(answer);
  if (process_ != nullptr) process_->wake();
}

// The process that a call has, from the question to the exit code.
class ClientCall::Process {
 public:
  Process(ClientCall& call, CommandCall& process) : call_(call) {
    const MutexLock lock(call_.mutex_);
    call_.process_ = &process;
  }
  ~Process() {
    const MutexLock lock(call_.mutex_);
    call_.process_ = nullptr;
    call_.ended_ = true;
    call_.output_.clear();
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

 private:
  ClientCall& call_;
};

int ClientCall::serve(CommandCall& process, const std::string& sandbox) {
  const Process own(*this, process);
  const std::string question = all_.ask({{"sandboxId", sandbox},
                                         {"call", number_},
                                         {"name", process.name()},
                                         {"arguments", process.arguments()},
                                         {"cwd", process.directory()},
                                         {"env", process.environment()}},
                                        shared_from_this());
  if (const std::optional<int> code = pump(process)) return *code;
  all_.forget(question);
  all_.tell("call.end", {{"call", number_}});
  return status_failed;
}

std::optional<int> ClientCall::pump(CommandCall& process) {
  for (;;) {
    CommandCall::Ready wanted;
    if (const std::optional<int> code = next(process, wanted)) return code;
    const Result<CommandCall::Ready> ready = process.wait(wanted);
    if (!ready) return std::nullopt;
    if ((ready->out || ready->err) && !pass_output(process)) return std::nullopt;
    if (ready->input && !pass_input(process)) return std::nullopt;
  }
}

std::optional<int> ClientCall::next(CommandCall& process, CommandCall::Ready& wanted) {
  ReleasableMutexLock lock(mutex_);
  if (!output_.empty()) {
    (output_.front().stream == Stream::out ? wanted.out : wanted.err) = true;
  } else if (answer_) {
    const Connection::Answer answer = *answer_;
    const Result<void> written = written_;
    lock.unlock();
    return end(process, answer, written);
  }
  wanted.input = wanted_input_ != 0 && !answer_;
  return std::nullopt;
}

int ClientCall::end(CommandCall& process, const Connection::Answer& answer,
                    const Result<void>& written) const {
  std::optional<int> code = status_failed;
  std::string problem;
  if (!answer.ok) {
    problem = answer.text;
  } else if (code = exit_code_of(answer.text); !code) {
    problem = "the host's answer is no exit code";
  } else if (!written && *code == 0) {
    code = status_failed;
    problem = fmt::format("write error: {}", errno_info(written.error()).message);
  }
  if (!problem.empty())
    (void)process.write(Stream::err, fmt::format("{}: {}\n", process.name(), problem));
  return code.value_or(status_failed);
}

// One piece of what waits; an error only where the process must end.
Result<void> ClientCall::pass_output(CommandCall& process) {
  Piece piece;
  {
    const MutexLock lock(mutex_);
    const Piece& first = output_.front();
    piece = {first.stream, first.bytes.substr(first.taken, CommandCall::piece_bytes)};
  }
  const Result<void> written = process.write(piece.stream, piece.bytes);
  if (!written && written.error() == Errno::canceled) return written;
  std::size_t taken = piece.bytes.size();
  bool is_all = false;
  {
    const MutexLock lock(mutex_);
    Piece& first = output_.front();
    if (written) {
      first.taken += taken;
      if (first.taken == first.bytes.size()) output_.pop_front();
    } else {
      written_ = written;
      taken = output_bytes_;
      output_.clear();
    }
    output_bytes_ -= taken;
    is_all = output_.empty();
  }
  tell_taken(taken, is_all);
  return {};
}

void ClientCall::tell_taken(std::size_t bytes, bool is_all) {
  untold_bytes_ += bytes;
  if (!is_all && untold_bytes_ < tell_bytes) return;
  all_.tell("call.taken", {{"call", number_}, {"bytes", std::exchange(untold_bytes_, 0)}});
}

Result<void> ClientCall::pass_input(CommandCall& process) {
  constexpr std::size_t piece_bytes = 64 << 10;
  std::size_t wanted = 0;
  {
    const MutexLock lock(mutex_);
    wanted = std::min(wanted_input_, piece_bytes);
  }
  std::string bytes(wanted, '\0');
  const Result<std::size_t> count = process.read(bytes);
  if (!count && count.error() == Errno::canceled) return Errno::canceled;
  bytes.resize(count ? *count : 0);
  Reply params{{"call", number_}, {"data", to_base64(bytes)}};
  if (!count) params["error"] = errno_info(count.error()).name;
  {
    // Nothing comes after the end.
    const MutexLock lock(mutex_);
    wanted_input_ = bytes.empty() ? 0 : wanted_input_ - bytes.size();
  }
  all_.tell("call.input", std::move(params));
  return {};
}

}  // namespace cloche::rpc
