// SPDX-License-Identifier: Apache-2.0
#include "sandbox/native/native_python.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "sandbox/exit_codes.h"
#include "sandbox/native/native_backend.h"
#include "sandbox/native/native_turn.h"
#include "sandbox/native/python_starts.h"

namespace cloche::sandbox {
namespace {

// How a call ended, of which the interpreter has gone.
void set_ended(RunResult& result, const NativeTurn::End& end, bool is_cancelled,
               std::chrono::milliseconds limit) {
  if (end.not_started) {
    result = native_not_started("python3", "/", end.not_started->step, end.not_started->value);
  } else if (end.stopped == python::StopReason::time) {
    result.status = RunStatus::timed_out;
    result.exit_code = status_timed_out;
    result.reason = fmt::format("Python was stopped at its time limit of {} ms: its names are gone",
                                limit.count());
  } else if (WIFEXITED(end.wait_status)) {
    result.exit_code = WEXITSTATUS(end.wait_status);
  } else {
    result.signal = WTERMSIG(end.wait_status);
    result.status = is_cancelled ? RunStatus::killed : RunStatus::signaled;
    result.exit_code = is_cancelled ? status_killed : 128 + result.signal;
    result.reason =
        is_cancelled ? "Python was cancelled: its names are gone"
        : end.memory_exceeded
            ? "Python took more memory than the sandbox has: its names are gone"
            : fmt::format("Python was ended by signal {}: its names are gone", result.signal);
  }
}

}  // namespace

bool NativePython::is_alive() {
  if (live_ && !live_->is_alive()) {
    live_.reset();
    begins_anew_ = "it could not go on there";
  }
  if (live_ && live_->has_ended()) live_.reset();
  return live_ != nullptr;
}

RunResult NativePython::run(std::string_view source, const PythonOptions& options) {
  sandbox_.tell_use(FirstUse::python);
  const MutexLock lock(mutex_);
  if (options.stop.stop_requested()) return cancelled_before_it_began("the code");
  RunResult result;
  if (std::string why = sandbox_.why_ended(); !why.empty()) {
    result.status = RunStatus::not_started;
    result.exit_code = not_started_status(Errno::pipe);
    result.reason = std::move(why);
    return result;
  }
  if (!is_alive()) {
    Result<std::unique_ptr<NativeInterpreter>> started =
        NativeInterpreter::begin(sandbox_, PythonStart::plain);
    if (!started) {
      return native_not_started("python3", "/", warden::Step::program,
                                static_cast<int>(started.error()));
    }
    live_ = *std::move(started);
    if (!begins_anew_.empty()) {
      result.reason = fmt::format("the live Python is not in this fork: {}, and began anew",
                                  std::exchange(begins_anew_, {}));
    }
  }
  const auto begin = NativeTurn::Clock::now();
  const std::chrono::milliseconds limit = options.timeout.value_or(sandbox_.options().timeout);
  const std::uint64_t cancellations = sandbox_.cancellations();
  NativeTurn::Plan plan;
  plan.request = NativeInterpreter::request(static_cast<char>(NativeRequest::program), source);
  if (limit.count() > 0) plan.deadline = begin + limit;
  plan.output = [&](Stream stream, std::string_view bytes) {
    std::string& kept = stream == Stream::out ? result.stdout_data : result.stderr_data;
    const std::uint64_t room = options.output_limit_bytes - kept.size();
    kept.append(bytes.substr(0, std::min<std::uint64_t>(room, bytes.size())));
    (stream == Stream::out ? result.stdout_truncated : result.stderr_truncated) |=
        bytes.size() > room;
  };
  NativeInterpreter& live = *live_;
  const NativeTurn::End end = [&] {
    const std::stop_callback on_stop(options.stop, [&live] { live.command().kill(); });
    return NativeTurn(sandbox_.box(), live, nullptr, std::move(plan)).perform();
  }();
  if (end.answer && !end.is_killed) {
    result.exit_code = *end.answer;
  } else {
    const bool is_cancelled =
        sandbox_.cancelled_since(cancellations) || options.stop.stop_requested();
    set_ended(result, end, is_cancelled, limit);
    if (std::string why = sandbox_.why_ended(); !why.empty()) result.reason = std::move(why);
    live_.reset();
  }
  const auto cleaned = [&](std::string& kept, bool is_cut_off) {
    kept = sandbox_.clean_output().clean(
        std::move(kept), is_cut_off ? CleanOutput::Text::cut_off : CleanOutput::Text::whole);
  };
  cleaned(result.stdout_data, result.stdout_truncated);
  cleaned(result.stderr_data, result.stderr_truncated);
  result.duration = NativeTurn::Clock::now() - begin;
  return result;
}

NativeInterpreter::Frozen NativePython::freeze() {
  const MutexLock lock(mutex_);
  if (!is_alive()) return {{}, begins_anew_};
  NativeInterpreter::Frozen frozen = live_->freeze();
  if (live_->has_ended()) {
    live_.reset();
    begins_anew_ = frozen.reason;
  }
  return frozen;
}

void NativePython::go_on_as(NativeInterpreter::Frozen frozen) {
  const MutexLock lock(mutex_);
  begins_anew_ = std::move(frozen.reason);
  if (!frozen.image.file) return;
  Result<std::unique_ptr<NativeInterpreter>> started =
      NativeInterpreter::start(sandbox_, std::move(frozen.image));
  if (started) {
    live_ = *std::move(started);
  } else {
    begins_anew_ = "it could not go on there";
  }
}

}  // namespace cloche::sandbox
