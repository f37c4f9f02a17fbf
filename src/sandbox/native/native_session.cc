// SPDX-License-Identifier: Apache-2.0
#include "sandbox/native/native_session.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/eventfd.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "kernel/time/time_limit.h"
#include "sandbox/native/native_backend.h"
#include "sandbox/native/python_starts.h"

namespace cloche::sandbox {
namespace {

using std::chrono::milliseconds;

constexpr int too_old = 1;  // what driver.py answers to NativeRequest::open_session

Error cannot_start(std::string_view why) {
  return {ErrorKind::sandbox, Errno::noent, fmt::format("cannot start Python: {}", why)};
}

std::string opening_request() {
  return NativeInterpreter::request(static_cast<char>(NativeRequest::open_session), {});
}

void append_word(std::string& text, std::uint32_t number) {
  char bytes[sizeof number];
  std::memcpy(bytes, &number, sizeof number);
  text.append(bytes, sizeof number);
}

}  // namespace

// The turn that stop() finds.
class NativeSession::Current {
 public:
  Current(NativeSession& session, NativeTurn& turn) : session_(session) {
    const MutexLock lock(session_.turn_mutex_);
    session_.turn_ = &turn;
  }
  ~Current() {
    const MutexLock lock(session_.turn_mutex_);
    session_.turn_ = nullptr;
  }
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;

 private:
  NativeSession& session_;
};

NativeSession::NativeSession(NativeBackend& sandbox) : sandbox_(sandbox) {
  mail_.wake.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
}

kernel::TimerThread& NativeSession::timers() noexcept { return sandbox_.timers(); }
CleanOutput NativeSession::clean_output() const { return sandbox_.clean_output(); }

// --- The interpreter

void NativeSession::forget_ended() {
  if (live_ && !live_->is_alive()) {
    drop();
    begins_anew_ = "it could not go on there";
  }
  if (live_ && live_->has_ended()) drop();
}

Result<SessionInterpreter::Began, Error> NativeSession::start() {
  forget_ended();
  if (live_) return Began::before;
  if (!mail_.wake) return cannot_start(errno_info(Errno::mfile).message);
  if (const std::string why = sandbox_.why_ended(); !why.empty())
    return Error(ErrorKind::sandbox, Errno::pipe, why);
  sandbox_.tell_use(FirstUse::session);
  Result<std::unique_ptr<NativeInterpreter>> started =
      NativeInterpreter::begin(sandbox_, PythonStart::session);
  if (!started) return cannot_start(errno_info(started.error()).message);
  live_ = *std::move(started);
  CLOCHE_TRY(open());
  if (!begins_anew_.empty()) {
    reason_ = fmt::format("the live Python is not in this fork: {}, and began anew",
                          std::exchange(begins_anew_, {}));
  }
  return Began::now;
}

Result<void, Error> NativeSession::open() {
  NativeTurn::Plan plan = plan_of(opening_request());
  plan.is_told = false;
  plan.deadline = NativeTurn::Clock::now() + open_patience;
  const NativeTurn::End end = perform(std::move(plan));
  if (end.answer == 0) return {};
  drop();
  if (end.not_started) {
    if (end.not_started->step == warden::Step::program && end.not_started->value == ENOENT)
      return cannot_start("the image has no python3");
    const RunResult said =
        native_not_started("python3", "/", end.not_started->step, end.not_started->value);
    return cannot_start(said.reason.empty() ? said.stderr_data : said.reason);
  }
  if (end.answer == too_old) return cannot_start("sessions want Python 3.9, and this one is older");
  return cannot_start("the image's python3 did not become a session");
}

void NativeSession::drop() {
  live_.reset();
  out_ = err_ = {};
  const MutexLock lock(mail_.mutex);
  mail_.unsent.clear();
}

bool NativeSession::asked(native::Box& box, NativeInterpreter& interpreter, std::string request) {
  NativeTurn::Plan plan;
  plan.request = std::move(request);
  plan.deadline = NativeTurn::Clock::now() + open_patience;
  plan.output = [](Stream, std::string_view) {};
  return NativeTurn(box, interpreter, nullptr, std::move(plan)).perform().answer == 0;
}

bool NativeSession::open(native::Box& box, NativeInterpreter& interpreter) {
  return asked(box, interpreter, opening_request());
}

bool NativeSession::preload(native::Box& box, NativeInterpreter& interpreter,
                            const std::vector<std::string>& packages) {
  if (packages.empty()) return true;
  return asked(box, interpreter,
               NativeInterpreter::request(static_cast<char>(NativeRequest::preload),
                                          fmt::format("{}", fmt::join(packages, "\n"))));
}

// --- Output

void NativeSession::begin_output(Stream stream, python::SessionOutput::Plan plan) {
  Output& output = stream == Stream::out ? out_ : err_;
  output.plan = std::move(plan);
  output.bytes = output.written.bytes.size();
}

python::SessionOutput::Written NativeSession::take_output(Stream stream) {
  Output& output = stream == Stream::out ? out_ : err_;
  return std::exchange(output, {}).written;
}

void NativeSession::write(Stream stream, std::string_view bytes) {
  Output& output = stream == Stream::out ? out_ : err_;
  const std::uint64_t room =
      output.plan.limit_bytes - std::min(output.plan.limit_bytes, output.bytes);
  const std::string_view text = bytes.substr(0, std::min<std::uint64_t>(room, bytes.size()));
  output.bytes += bytes.size();
  const bool is_over = text.size() < bytes.size() && !std::exchange(output.written.truncated, true);
  if (!output.plan.sink) output.written.bytes += text;
  if (output.plan.sink && !text.empty()) output.plan.sink(text);
  if (is_over && output.plan.over_limit) output.plan.over_limit();
}

// --- Turns

NativeTurn::Plan NativeSession::plan_of(std::string request) {
  NativeTurn::Plan plan;
  plan.request = std::move(request);
  plan.is_told = true;
  plan.output = [this](Stream stream, std::string_view bytes) { write(stream, bytes); };
  plan.timers = &sandbox_.timers();
  plan.listen = [this](std::string_view frame) { (void)listener_(frame); };
  return plan;
}

NativeTurn::End NativeSession::perform(NativeTurn::Plan plan) {
  NativeTurn turn(sandbox_.box(), *live_, &mail_, std::move(plan));
  const Current current(*this, turn);
  return turn.perform();
}

python::TurnResult NativeSession::take(python::Turn what, std::string_view payload,
                                       const python::TurnLimits& limits) {
  NativeTurn::Plan plan = plan_of(
      NativeInterpreter::request(static_cast<char>(what), payload, limits.memory_limit_bytes));
  plan.deadline = kernel::deadline_after(limits.time);
  plan.cpu = limits.cpu;
  const std::uint64_t cancellations = sandbox_.cancellations();
  const NativeTurn::End end = perform(std::move(plan));
  python::TurnResult result;
  result.stopped = end.stopped;
  if (end.answer && !end.is_killed) {
    if (*end.answer != 0) result.status = python::TurnStatus::raised;
    const Result<std::uint64_t> peak = sandbox_.box().peak_memory(live_->command().pid());
    result.memory_bytes = peak ? *peak : 0;
    return result;
  }
  if (end.is_killed && end.stopped != python::StopReason::none) {
    result.status = python::TurnStatus::overdue;
    result.reason = python::reason_not_stopped;
    return result;
  }
  result.status = python::TurnStatus::ended;
  result.memory_bytes = end.memory_bytes;
  result.exit_code =
      WIFEXITED(end.wait_status) ? WEXITSTATUS(end.wait_status) : 128 + WTERMSIG(end.wait_status);
  result.reason = "the session has ended";
  if (std::string why = sandbox_.why_ended(); !why.empty()) {
    result.reason = std::move(why);
  } else if (end.memory_exceeded) {
    result.reason += ": it took more memory than the sandbox has";
  } else if (end.is_killed) {
    result.reason += ": it said what makes no sense";
  } else if (sandbox_.cancelled_since(cancellations)) {
    result.reason += ": the sandbox was cancelled";
  } else if (WIFEXITED(end.wait_status)) {
    result.reason += python::reason_of_exit(WEXITSTATUS(end.wait_status));
  } else {
    result.reason += python::reason_of_signal(WTERMSIG(end.wait_status));
  }
  return result;
}

void NativeSession::stop(python::StopReason reason) {
  const MutexLock lock(turn_mutex_);
  if (turn_ != nullptr) turn_->stop(reason);
}

void NativeSession::acknowledge_stop() {
  const MutexLock lock(turn_mutex_);
  if (turn_ != nullptr) turn_->acknowledge();
}

void NativeSession::repeat_stop() {
  const MutexLock lock(turn_mutex_);
  if (turn_ != nullptr) turn_->repeat();
}

void NativeSession::reply(std::uint32_t number, python::HostReply kind, std::string_view payload) {
  const MutexLock lock(mail_.mutex);
  append_word(mail_.unsent, static_cast<std::uint32_t>(payload.size()));
  append_word(mail_.unsent, number);
  mail_.unsent.push_back(static_cast<char>(kind));
  mail_.unsent += payload;
  (void)::eventfd_write(mail_.wake.get(), 1);
}

// --- Forks and images

void NativeSession::begin_fork() {
  frozen_ = {};
  forget_ended();
  if (!live_) {
    frozen_.reason = begins_anew_;
    return;
  }
  frozen_ = live_->freeze();
  if (!live_->has_ended()) return;
  drop();
  begins_anew_ = frozen_.reason;
}

Result<std::unique_ptr<SessionInterpreter>> NativeSession::fork(Backend& twin) {
  // A fork of a box is a box.
  auto made = std::make_unique<NativeSession>(static_cast<NativeBackend&>(twin));
  made->go_on_as(std::exchange(frozen_, {}));
  return std::unique_ptr<SessionInterpreter>(std::move(made));
}

void NativeSession::go_on_as(NativeInterpreter::Frozen frozen) {
  begins_anew_ = std::move(frozen.reason);
  if (!frozen.image.file) return;
  Result<std::unique_ptr<NativeInterpreter>> started =
      NativeInterpreter::start(sandbox_, std::move(frozen.image));
  if (!started) {
    begins_anew_ = "it could not go on there";
    return;
  }
  live_ = *std::move(started);
}

void NativeSession::save_image(const std::filesystem::path&, CheckpointFile,
                               const CheckpointLimits&) {
  throw request_error(
      "the Python of a linux sandbox cannot be saved as an image: save its names, or fork it",
      Errno::notsup);
}

void NativeSession::load_image(const std::filesystem::path&) {
  throw request_error("the Python of a linux sandbox has no images: restore its names",
                      Errno::notsup);
}

}  // namespace cloche::sandbox
