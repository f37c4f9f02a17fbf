// SPDX-License-Identifier: Apache-2.0
#include "sandbox/python/kept_python.h"

#include <fmt/format.h>

#include "base/error.h"
#include "kernel/kernel.h"
#include "sandbox/command.h"
#include "sandbox/exit_codes.h"
#include "sandbox/python/interpreter.h"
#include "sandbox/sandbox_state.h"

namespace cloche::sandbox {
namespace {

// Bytes that a capture keeps of one call: every call of the sandbox may ask for less, none for
// more.
constexpr std::uint64_t capture_limit_bytes = 64ULL << 20;

void fill(RunResult& result, const python::TurnResult& turn) {
  result.reason = turn.reason;
  switch (turn.status) {
    case python::TurnStatus::finished: break;
    case python::TurnStatus::raised: result.exit_code = 1; break;
    case python::TurnStatus::exited: result.exit_code = turn.exit_code; break;
    case python::TurnStatus::ended:
      result.status = RunStatus::killed;
      result.exit_code = turn.exit_code;
      break;
    case python::TurnStatus::overdue:
      result.status = RunStatus::timed_out;
      result.exit_code = status_timed_out;
      break;
  }
}

}  // namespace

KeptPython::~KeptPython() { drop(); }

python::SessionOptions KeptPython::session_options() {
  kernel::Kernel& kernel = state_.kernel();
  out_ = std::make_unique<kernel::HostCapture>(kernel, capture_limit_bytes);
  err_ = std::make_unique<kernel::HostCapture>(kernel, capture_limit_bytes);
  return interpreter_options(state_, out_->guest_end(), err_->guest_end());
}

Result<void> KeptPython::start() {
  python::PythonRuntime* runtime = state_.engine().python().runtime();
  if (runtime == nullptr) return Errno::noent;
  CLOCHE_ASSIGN(session_, start_interpreter(state_, *runtime, session_options(), state_.image()));
  return {};
}

void KeptPython::drop() {
  session_.reset();
  out_.reset();
  err_.reset();
}

RunResult KeptPython::run(std::string_view source, const PythonOptions& options) {
  const MutexLock lock(mutex_);
  const auto begin = std::chrono::steady_clock::now();
  RunResult result;
  if (options.stop.stop_requested()) return cancelled_before_it_began("the code");
  if (!session_) {
    if (const Result<void> started = start(); !started) {
      drop();
      if (started.error() == Errno::intr) return cancelled_before_it_began("the code");
      result.status = RunStatus::not_started;
      result.exit_code = not_started_status(Errno::noent);
      result.reason = fmt::format("cannot start Python: {}", errno_info(started.error()).message);
      return result;
    }
  }
  const python::TurnResult turn = execute(source, options);
  fill(result, turn);
  const auto take = [&](kernel::HostCapture& port, std::string& text, bool& truncated) {
    kernel::HostCapture::Output output = port.take();
    truncated = output.truncated() || output.bytes.size() > options.output_limit_bytes;
    text = state_.scrub(std::move(output.bytes));
    if (text.size() > options.output_limit_bytes)
      text.resize(static_cast<std::size_t>(options.output_limit_bytes));
  };
  take(*out_, result.stdout_data, result.stdout_truncated);
  take(*err_, result.stderr_data, result.stderr_truncated);
  if (turn.status == python::TurnStatus::ended || turn.status == python::TurnStatus::overdue)
    drop();
  result.duration = std::chrono::steady_clock::now() - begin;
  return result;
}

python::TurnResult KeptPython::execute(std::string_view source, const PythonOptions& options) {
  kernel::Kernel& kernel = state_.kernel();
  const std::stop_callback on_stop(options.stop, [&kernel, job = session_->process()->job] {
    kernel.signal_job(job, kernel::sigkill);
  });
  return session_->execute(source, options.timeout.value_or(state_.options().timeout));
}

void KeptPython::pass_on(const std::function<KeptPython&()>& fork) {
  const MutexLock lock(mutex_);
  KeptPython& twin = fork();
  if (session_) twin.go_on_from(*session_);
}

void KeptPython::go_on_from(python::PythonSession& other) {
  const MutexLock lock(mutex_);
  auto session = other.fork(state_.kernel(), session_options());
  if (session) {
    session_ = *std::move(session);
  } else {
    drop();
  }
}

}  // namespace cloche::sandbox
