// SPDX-License-Identifier: Apache-2.0
#include "sandbox/python/python_session_state.h"

#include <fmt/format.h>

#include <charconv>
#include <cstring>
#include <stdexcept>

#include "python/json_text.h"
#include "sandbox/backend.h"
#include "sandbox/command.h"
#include "sandbox/exit_codes.h"
#include "sandbox/python/execution_record.h"
#include "sandbox/python/record_fields.h"
#include "sandbox/python/turn_output.h"

namespace cloche::sandbox {
namespace {

void must(const Result<void, Error>& result) {
  if (!result) throw Error(result.error());
}

std::optional<std::uint32_t> number_at(std::string_view frame) {
  std::uint32_t number = 0;
  if (frame.size() < 1 + sizeof number) return std::nullopt;
  std::memcpy(&number, frame.data() + 1, sizeof number);
  return number;
}

}  // namespace

// The one user that the session has at the moment.
class PythonSessionState::Use {
 public:
  explicit Use(PythonSessionState& state) : state_(state), got_it_(!state.busy_.exchange(true)) {}
  ~Use() {
    if (got_it_) state_.busy_ = false;
  }
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;
  explicit operator bool() const noexcept { return got_it_; }

  static Error refusal() {
    return request_error(
        "the session is busy: it executes one thing at a time, and a callback cannot use the "
        "session that has called it",
        Errno::busy);
  }

 private:
  PythonSessionState& state_;
  bool got_it_;
};

PythonSessionState::PythonSessionState(std::unique_ptr<Sandbox> own, Sandbox& sandbox,
                                       Backend& backend,
                                       std::unique_ptr<SessionInterpreter> interpreter,
                                       const PythonSessionOptions& options)
    : own_sandbox_(std::move(own)),
      sandbox_(sandbox),
      backend_(backend),
      callback_threads_(options.callback_threads),
      interpreter_(std::move(interpreter)),
      callbacks_(interpreter_->timers(), options.callback_threads) {
  interpreter_->listen([this](std::string_view frame) { return listen(frame); });
  for (const Callback& callback : options.callbacks) callbacks_.add(callback);
}

PythonSessionState::~PythonSessionState() { drop(); }

// --- The interpreter ---

Result<void, Error> PythonSessionState::start() {
  CLOCHE_ASSIGN(const SessionInterpreter::Began began, interpreter_->start());
  if (began == SessionInterpreter::Began::now) connect();
  return {};
}

void PythonSessionState::connect() {
  known_callbacks_ = 0;
  callbacks_.connect(
      [this](std::uint32_t number, python::HostReply kind, std::string_view payload) {
        interpreter_->reply(number, kind, payload);
      });
}

void PythonSessionState::drop() {
  version_ = 0;
  was_unclear_ = false;
  callbacks_.connect({});
  interpreter_->drop();
}

// --- What the interpreter says ---

bool PythonSessionState::listen(std::string_view frame) {
  if (frame.empty()) return false;
  const std::string_view payload = frame.substr(1);
  switch (static_cast<python::SessionWord>(frame.front())) {
    case python::SessionWord::call: {
      const auto number = number_at(frame);
      return number && callbacks_.call(*number, frame.substr(1 + sizeof *number));
    }
    case python::SessionWord::forget_call: {
      const auto number = number_at(frame);
      if (number) callbacks_.cancel(*number);
      return number.has_value();
    }
    case python::SessionWord::stops: interpreter_->acknowledge_stop(); return true;
    case python::SessionWord::listens: interpreter_->repeat_stop(); return true;
    case python::SessionWord::record: {
      const MutexLock lock(mail_mutex_);
      mail_.record = payload;
      return true;
    }
    case python::SessionWord::bytes: {
      const MutexLock lock(mail_mutex_);
      if (mail_.bytes.size() + payload.size() > mail_.max_bytes) {
        mail_.too_many = true;
      } else {
        mail_.bytes += payload;
      }
      return true;
    }
    case python::SessionWord::trace: pass_on_trace(payload); return true;
  }
  return false;
}

void PythonSessionState::pass_on_trace(std::string_view records) {
  std::function<void(const TraceEvent&)> sink;
  {
    const MutexLock lock(mail_mutex_);
    sink = mail_.trace;
  }
  while (sink && !records.empty()) {
    const std::size_t end = std::min(records.find('\n'), records.size());
    // line TAB event TAB context: JSON texts have no tabs.
    const std::string_view record = records.substr(0, end);
    const std::size_t first = record.find('\t');
    const std::size_t second = record.find('\t', first + 1);
    if (first != std::string_view::npos && second != std::string_view::npos) {
      TraceEvent event;
      const std::string_view line = record.substr(0, first);
      (void)std::from_chars(line.begin(), line.end(), event.line);
      event.event = backend_.scrub(std::string(record.substr(first + 1, second - first - 1)));
      event.context = backend_.scrub(std::string(record.substr(second + 1)));
      sink(event);
    }
    records.remove_prefix(std::min(end + 1, records.size()));
  }
}

// --- Execution ---

std::string PythonSessionState::head_of(const ExecuteOptions& options) {
  std::string head;
  const auto add = [&head](std::string_view name, std::string_view value) {
    head += fmt::format("{}\"{}\":{}", head.empty() ? "{" : ",", name, value);
  };
  if (const std::uint64_t version = callbacks_.version(); version != known_callbacks_) {
    add("callbacks", callbacks_.describe());
    known_callbacks_ = version;
  }
  if (options.output) add("stream", "true");
  if (options.limits.steps != 0) add("steps", fmt::format("{}", options.limits.steps));
  if (options.trace.sink) {
    const python::Json trace{{"files", options.trace.files},
                             {"rate", options.trace.max_events_per_second},
                             {"values", options.trace.context == TraceOptions::Context::values}};
    add("trace", python::write_json(trace));
  }
  return head.empty() ? head : head + "}";
}

ExecuteResult PythonSessionState::execute(std::string_view code, const ExecuteOptions& options) {
  const auto begin = std::chrono::steady_clock::now();
  ExecuteResult result;
  const Use use(*this);
  if (!use) {
    result.status = ExecuteStatus::busy;
    result.reason = Use::refusal().sentence();
    return result;
  }
  if (const auto started = start(); !started) return not_begun(started.error());
  has_changed();
  result.reason = interpreter_->take_reason();
  TurnOutput output(*interpreter_, options);
  callbacks_.begin(options.limits.callbacks);
  {
    const MutexLock lock(mail_mutex_);
    mail_ = {};
    mail_.trace = options.trace.sink;
  }
  const python::TurnLimits limits{
      .time = options.limits.timeout.value_or(backend_.options().timeout),
      .cpu = options.limits.cpu_time,
      .memory_limit_bytes = options.limits.memory_bytes};
  std::string frame = head_of(options);
  frame.push_back('\0');
  frame += code;
  const python::TurnResult turn = interpreter_->take(python::Turn::evaluate, frame, limits);
  output.end(result);
  result.callback_count = callbacks_.calls();
  conclude(turn, options, result);
  result.duration = std::chrono::steady_clock::now() - begin;
  return result;
}

ExecuteResult PythonSessionState::not_begun(const Error& why) {
  ExecuteResult result;
  if (why.code() == Errno::intr) {
    result.status = ExecuteStatus::cancelled;
    result.reason = "the execution was cancelled before it began";
    return result;
  }
  result.status = ExecuteStatus::ended;
  result.exit_code = why.code() == Errno::noent ? not_started_status(Errno::noent) : status_killed;
  result.session_alive = false;
  result.reason = why.sentence();
  result.stderr_data = result.reason + "\n";
  return result;
}

// From how the turn ended, and what the interpreter said about it.
void PythonSessionState::conclude(const python::TurnResult& turn, const ExecuteOptions& options,
                                  ExecuteResult& result) {
  std::string record;
  {
    const MutexLock lock(mail_mutex_);
    record = std::move(mail_.record);
    mail_ = {};
  }
  const auto scrub = [this](std::string text) { return backend_.scrub(std::move(text)); };
  const bool is_clear = read_record(record, turn, options, scrub, result);
  if (turn.memory_bytes != 0) result.peak_memory_bytes = turn.memory_bytes;
  if (turn.stopped != python::StopReason::none) {
    set_stopped(turn.stopped, options, options.limits.timeout.value_or(backend_.options().timeout),
                result);
    callbacks_.cancel_all();
    // Stopped before its first line.
    if (!result.error && turn.status == python::TurnStatus::raised)
      result.error = error_of_stop(turn.stopped, result.reason);
  }
  if (turn.status == python::TurnStatus::ended || turn.status == python::TurnStatus::overdue) {
    result.session_alive = false;
    result.reason += (result.reason.empty() ? "" : "; ") + turn.reason;
    if (turn.status == python::TurnStatus::ended && turn.stopped == python::StopReason::none) {
      result.status = ExecuteStatus::ended;
      result.exit_code = turn.exit_code;
    }
    drop();
  } else if (is_clear) {
    was_unclear_ = false;
  } else if (std::exchange(was_unclear_, true)) {
    give_up(result);
  }
}

// Its code has taken away what it says its end by, as `del __builtins__.len` does: no other code
// would say more.
void PythonSessionState::give_up(ExecuteResult& result) {
  result.status = ExecuteStatus::ended;
  result.exit_code = status_killed;
  result.session_alive = false;
  result.reason =
      "the session was ended: twice its interpreter could not say how code ended, so the code has "
      "broken it";
  drop();
}

void PythonSessionState::cancel() { interpreter_->stop(python::StopReason::cancelled); }

// --- Forks and images ---

std::unique_ptr<PythonSessionState> PythonSessionState::fork(const ForkSandbox& fork_sandbox) {
  const Use use(*this);
  if (!use) throw Use::refusal();
  interpreter_->begin_fork();
  SandboxFork twin = fork_sandbox();
  auto interpreter = interpreter_->fork(twin.backend);
  if (!interpreter) throw session_failed("the session cannot be forked", interpreter.error());
  PythonSessionOptions options;
  options.callbacks = callbacks_.callbacks();
  options.callback_threads = callback_threads_;
  Sandbox& sandbox = *twin.sandbox;
  auto state = std::make_unique<PythonSessionState>(std::move(twin.sandbox), sandbox, twin.backend,
                                                    *std::move(interpreter), options);
  if (state->interpreter_->is_there()) state->connect();
  if (state->interpreter_->is_there()) state->version_ = version_.load();
  return state;
}

// Numbers of all sessions differ.
void PythonSessionState::has_changed() noexcept {
  static std::atomic<std::uint64_t> last = 0;
  version_ = ++last;
}

void PythonSessionState::save_image(const std::filesystem::path& file, CheckpointFile kind,
                                    const CheckpointLimits& limits) {
  const Use use(*this);
  if (!use) throw Use::refusal();
  must(start());
  try {
    interpreter_->save_image(file, kind, limits);
  } catch (const Error&) {
    if (!interpreter_->is_there()) drop();
    throw;
  }
}

void PythonSessionState::load_image(const std::filesystem::path& file) {
  const Use use(*this);
  if (!use) throw Use::refusal();
  callbacks_.connect({});
  try {
    interpreter_->load_image(file);
  } catch (const Error&) {
    if (interpreter_->is_there()) {
      connect();
    } else {
      drop();
    }
    throw;
  }
  connect();
  has_changed();
}

// --- State ---

Result<PythonState, Error> PythonSessionState::state_turn(python::Turn turn,
                                                          std::string_view payload,
                                                          std::uint64_t max_bytes) {
  const Use use(*this);
  if (!use) return Use::refusal();
  CLOCHE_TRY(start());
  has_changed();  // pickling runs code of the user's too
  {
    const MutexLock lock(mail_mutex_);
    mail_ = {};
    mail_.max_bytes = max_bytes;
  }
  const python::TurnLimits limits{.time = backend_.options().timeout};
  const python::TurnResult end = interpreter_->take(turn, payload, limits);
  Mail mail;
  {
    const MutexLock lock(mail_mutex_);
    mail = std::exchange(mail_, {});
  }
  if (end.status == python::TurnStatus::ended || end.status == python::TurnStatus::overdue) {
    drop();
    return Error(ErrorKind::sandbox, Errno::io, end.reason);
  }
  if (mail.too_many) {
    return request_error(fmt::format("the state is larger than {} bytes", max_bytes), Errno::fbig);
  }
  PythonState state{.bytes = std::move(mail.bytes), .left_out = {}};
  if (const auto record = python::read_json(mail.record); record && record->is_object()) {
    if (const std::string problem = text_at(*record, "error"); !problem.empty())
      return request_error(problem);
    if (const auto left = record->find("left_out"); left != record->end() && left->is_array()) {
      for (const python::Json& one : *left) {
        if (one.is_object())
          state.left_out.push_back({text_at(one, "name"), text_at(one, "reason")});
      }
    }
  }
  if (end.status == python::TurnStatus::finished) return state;
  if (end.stopped == python::StopReason::none)
    return Error(ErrorKind::sandbox, Errno::io, "the session did not give its state");
  return Error(ErrorKind::sandbox, Errno::canceled,
               "the session was stopped before it gave its state");
}

Result<PythonState, Error> PythonSessionState::snapshot(const SnapshotOptions& options) {
  const Json request{
      {"leave_out", options.on_unpicklable == SnapshotOptions::OnUnpicklable::leave_out},
      {"max_bytes", options.max_bytes}};
  return state_turn(python::Turn::snapshot, python::write_json(request), options.max_bytes);
}

Result<void, Error> PythonSessionState::restore(std::string_view bytes) {
  CLOCHE_TRY(state_turn(python::Turn::restore, bytes, 0));
  return {};
}

Result<void, Error> PythonSessionState::clear() {
  CLOCHE_TRY(state_turn(python::Turn::clear, {}, 0));
  return {};
}

}  // namespace cloche::sandbox
