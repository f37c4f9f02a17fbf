// SPDX-License-Identifier: Apache-2.0
#include "python/callback_host.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <system_error>

#include "base/error.h"
#include "base/mutex.h"
#include "base/thread_name.h"
#include "kernel/time/time_limit.h"

namespace cloche::python {
namespace {

std::string error_record(std::string_view kind, std::string_view name, std::string_view message,
                         std::string_view type) {
  Json record{{"kind", kind}, {"callback", name}, {"message", message}};
  if (!type.empty()) record["type"] = type;
  return write_json(record);
}

bool is_good_name(std::string_view name) {
  const auto good = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.' || c == '/' || c == ':' || static_cast<unsigned char>(c) >= 0x80;
  };
  return !name.empty() && name.size() <= 256 && std::ranges::all_of(name, good);
}

}  // namespace

// What calls and the host share: calls may live longer, in handlers that have not answered yet.
struct CallbackHost::Gate {
  Mutex mutex;
  Reply reply GUARDED_BY(mutex);
  std::unordered_map<std::uint32_t, std::shared_ptr<Call>> in_progress GUARDED_BY(mutex);
  std::size_t bytes GUARDED_BY(mutex) = 0;  // of their arguments
};

class CallbackHost::Call final : public CallbackCall, public std::enable_shared_from_this<Call> {
 public:
  Call(std::shared_ptr<Gate> gate, std::uint32_t number, std::string_view name,
       std::string_view arguments)
      : gate_(std::move(gate)), number_(number), name_(name), arguments_(arguments) {}

  std::uint32_t number() const noexcept { return number_; }
  const std::string& name() const override { return name_; }
  const std::string& arguments() const override { return arguments_; }

  void reply(std::string_view result_json) override {
    if (!read_json(result_json)) {
      fail("the callback gave a result that is no JSON");
      return;
    }
    finish(HostReply::result, result_json);
  }
  void fail(std::string_view message, std::string_view type = {}) override {
    fail_with("error", message, type);
  }
  void fail_with(std::string_view kind, std::string_view message, std::string_view type = {}) {
    finish(HostReply::error, error_record(kind, name_, message, type));
  }

  bool cancelled() const override {
    const MutexLock lock(mutex_);
    return state_ == State::cancelled;
  }
  void on_cancel(std::function<void()> callback) override {
    {
      const MutexLock lock(mutex_);
      if (state_ == State::waiting) {
        on_cancel_.push_back(std::move(callback));
        return;
      }
      if (state_ == State::answered) return;
    }
    callback();
  }

  // Nobody waits any more.
  void cancel() {
    std::vector<std::function<void()>> told;
    {
      const MutexLock lock(mutex_);
      if (state_ != State::waiting) return;
      state_ = State::cancelled;
      told.swap(on_cancel_);
    }
    for (const auto& tell : told) tell();
  }

  // Before anyone else knows the call.
  void arm(kernel::TimerThread& timers, const void* owner, std::chrono::milliseconds limit) {
    timers_ = &timers;
    const auto when =
        std::chrono::steady_clock::now() + std::min(limit, kernel::longest_time_limit);
    timer_ = timers.add(when, owner, [weak = weak_from_this(), limit] {
      if (const auto late = weak.lock()) late->expire(limit);
    });
  }
  // While it is in progress, and so the host is there; the gate is held.
  void disarm() {
    if (timers_ != nullptr) timers_->cancel(timer_);
  }

  // Its time is over.
  void expire(std::chrono::milliseconds limit) {
    bool waiting = false;
    {
      const MutexLock lock(mutex_);
      waiting = state_ == State::waiting;
    }
    if (!waiting) return;
    post(HostReply::error,
         error_record("timeout", name_,
                      fmt::format("{} did not answer within {} ms", name_, limit.count()), {}));
    cancel();
  }

 private:
  enum class State : std::uint8_t { waiting, answered, cancelled };

  void finish(HostReply kind, std::string_view payload) {
    {
      const MutexLock lock(mutex_);
      if (state_ != State::waiting) return;
      state_ = State::answered;
      on_cancel_.clear();
    }
    post(kind, payload);
  }

  void post(HostReply kind, std::string_view payload) {
    const MutexLock lock(gate_->mutex);
    const auto own = gate_->in_progress.find(number_);
    if (own == gate_->in_progress.end() || own->second.get() != this) return;
    disarm();
    gate_->bytes -= arguments_.size();
    if (gate_->reply) gate_->reply(number_, kind, payload);
    gate_->in_progress.erase(own);
  }

  const std::shared_ptr<Gate> gate_;
  const std::uint32_t number_;
  const std::string name_;
  const std::string arguments_;
  kernel::TimerThread* timers_ = nullptr;
  kernel::TimerThread::Id timer_ = 0;
  mutable Mutex mutex_;
  State state_ GUARDED_BY(mutex_) = State::waiting;
  std::vector<std::function<void()>> on_cancel_ GUARDED_BY(mutex_);
};

CallbackHost::CallbackHost(kernel::TimerThread& timers, unsigned threads)
    : timers_(timers), max_threads_(std::max(threads, 1U)), gate_(std::make_shared<Gate>()) {}

CallbackHost::~CallbackHost() {
  connect({});
  {
    const MutexLock lock(jobs_mutex_);
    ending_ = true;
    jobs_.clear();
  }
  jobs_changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  timers_.drain(this);
}

void CallbackHost::add(Callback callback) {
  if (!is_good_name(callback.name))
    throw request_error(fmt::format(
        "'{}' is no name for a callback: letters, digits and _ - . / : are", callback.name));
  if ((callback.handler == nullptr) == (callback.async_handler == nullptr))
    throw request_error(fmt::format(
        "the callback {} needs a handler or an async_handler, one of both", callback.name));
  auto function = std::make_shared<Function>(Function{callback, JsonSchema("")});
  try {
    function->schema = JsonSchema(callback.parameters_schema);
  } catch (const Error& problem) {
    throw request_error(fmt::format("the callback {}: {}", callback.name, problem.what()));
  }
  const MutexLock lock(mutex_);
  functions_[function->callback.name] = std::move(function);
  ++version_;
}

bool CallbackHost::remove(std::string_view name) {
  const MutexLock lock(mutex_);
  const auto found = functions_.find(name);
  if (found == functions_.end()) return false;
  functions_.erase(found);
  ++version_;
  return true;
}

std::vector<Callback> CallbackHost::callbacks() const {
  const MutexLock lock(mutex_);
  std::vector<Callback> all;
  for (const auto& [name, function] : functions_) all.push_back(function->callback);
  return all;
}

std::uint64_t CallbackHost::version() const {
  const MutexLock lock(mutex_);
  return version_;
}

std::string CallbackHost::describe() const {
  const MutexLock lock(mutex_);
  Json infos = Json::array();
  for (const auto& [name, function] : functions_) {
    infos.push_back({{"name", name},
                     {"description", function->callback.description},
                     {"parameters_schema", function->schema.json()}});
  }
  return write_json(infos);
}

void CallbackHost::connect(Reply reply) {
  const bool connected = reply != nullptr;
  {
    const MutexLock lock(gate_->mutex);
    gate_->reply = std::move(reply);
  }
  if (!connected) cancel_all();
}

void CallbackHost::begin(std::uint64_t max_calls) {
  const MutexLock lock(mutex_);
  max_calls_ = max_calls;
  calls_ = 0;
}

std::uint64_t CallbackHost::calls() const {
  const MutexLock lock(mutex_);
  return calls_;
}

bool CallbackHost::call(std::uint32_t number, std::string_view payload) {
  const std::size_t end = payload.find('\0');
  if (end == std::string_view::npos) return false;
  const auto call =
      std::make_shared<Call>(gate_, number, payload.substr(0, end), payload.substr(end + 1));
  bool full = false;
  {
    const MutexLock lock(gate_->mutex);
    full = gate_->in_progress.size() >= max_in_progress ||
           gate_->bytes + payload.size() > max_bytes_in_progress;
    if (!gate_->in_progress.emplace(number, call).second) return false;
    gate_->bytes += call->arguments().size();
  }
  if (full) {
    call->fail_with("limit", "too many calls are in progress already");
    return true;
  }
  if (const std::string kind = begin_call(call); !kind.empty()) {
    const std::size_t colon = kind.find(':');
    call->fail_with(kind.substr(0, colon), kind.substr(colon + 1));
  }
  return true;
}

// "kind:message" of what keeps it from being made; empty: it is on its way.
std::string CallbackHost::begin_call(const std::shared_ptr<Call>& call) {
  std::shared_ptr<const Function> function;
  {
    const MutexLock lock(mutex_);
    const auto found = functions_.find(call->name());
    if (found == functions_.end())
      return fmt::format("not_found:there is no callback '{}'", call->name());
    if (calls_ >= max_calls_)
      return fmt::format("limit:the limit of {} callbacks of one execution is used up", max_calls_);
    ++calls_;
    function = found->second;
  }
  const std::optional<Json> arguments = read_json(call->arguments());
  if (!arguments || !arguments->is_object())
    return fmt::format("arguments:{}(): the arguments are no JSON object", call->name());
  if (const std::string problem = function->schema.problem(*arguments); !problem.empty())
    return fmt::format("arguments:{}(): {}", call->name(), problem);
  if (const auto limit = function->callback.timeout) {
    const MutexLock lock(gate_->mutex);
    if (gate_->in_progress.contains(call->number())) call->arm(timers_, this, *limit);
  }
  if (function->callback.async_handler) {
    function->callback.async_handler(call);
  } else {
    run_on_thread(std::move(function), call);
  }
  return {};
}

void CallbackHost::run_on_thread(std::shared_ptr<const Function> function,
                                 std::shared_ptr<Call> call) {
  const MutexLock lock(jobs_mutex_);
  jobs_.push_back({std::move(function), std::move(call)});
  if (idle_ >= jobs_.size() || threads_.size() >= max_threads_) {
    jobs_changed_.notify_one();
    return;
  }
  try {
    threads_.emplace_back(with_name("cloche-callback", [this] { work(); }));
  } catch (const std::system_error&) {
    // The threads at hand do it, one job after the other.
    if (threads_.empty()) {
      jobs_.back().call->fail("the host has no thread for it");
      jobs_.pop_back();
    }
  }
}

void CallbackHost::work() {
  ReleasableMutexLock lock(jobs_mutex_);
  for (;;) {
    ++idle_;
    jobs_changed_.wait(jobs_mutex_,
                       [this]() REQUIRES(jobs_mutex_) { return ending_ || !jobs_.empty(); });
    --idle_;
    if (ending_) return;
    Job job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    try {
      if (!job.call->cancelled()) job.call->reply(job.function->callback.handler(*job.call));
    } catch (const std::exception& problem) {
      job.call->fail(problem.what());
    } catch (...) {
      job.call->fail("the callback failed");
    }
    job = {};
    lock.lock();
  }
}

void CallbackHost::cancel(std::uint32_t number) {
  std::shared_ptr<Call> call;
  {
    const MutexLock lock(gate_->mutex);
    const auto found = gate_->in_progress.find(number);
    if (found == gate_->in_progress.end()) return;
    call = std::move(found->second);
    call->disarm();
    gate_->bytes -= call->arguments().size();
    gate_->in_progress.erase(found);
  }
  call->cancel();
}

void CallbackHost::cancel_all() {
  std::unordered_map<std::uint32_t, std::shared_ptr<Call>> calls;
  {
    const MutexLock lock(gate_->mutex);
    calls.swap(gate_->in_progress);
    gate_->bytes = 0;
  }
  for (const auto& [number, call] : calls) call->cancel();
}

}  // namespace cloche::python
