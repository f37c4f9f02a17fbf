// SPDX-License-Identifier: Apache-2.0
// CallbackHost: the functions of the host that one session's code may call, and the calls that are
// in progress.
//
// Thread-safe. It must be gone before the TimerThread, and after the interpreter that calls.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/callback.h"
#include "base/mutex.h"
#include "kernel/time/timer_thread.h"
#include "python/frames.h"
#include "python/json_schema.h"

namespace cloche::python {

class CallbackHost {
 public:
  // At most so many calls, with so many bytes of arguments, are in progress; one more fails.
  static constexpr std::size_t max_in_progress = 4096;
  static constexpr std::size_t max_bytes_in_progress = std::size_t{256} << 20;

  CallbackHost(kernel::TimerThread& timers, unsigned threads);
  // Cancels what is in progress, and waits for handlers that run.
  ~CallbackHost();
  CallbackHost(const CallbackHost&) = delete;
  CallbackHost& operator=(const CallbackHost&) = delete;

  // See PythonSession::add_callback.
  void add(Callback callback);
  bool remove(std::string_view name);
  std::vector<Callback> callbacks() const;
  // Changes with every add and remove.
  std::uint64_t version() const;
  // A JSON array for the guest: name, description, parameters_schema of each, by name.
  std::string describe() const;

  // Where answers go: number, 'r' or 'e', JSON. Null: nowhere, and calls in progress are cancelled.
  using Reply = std::function<void(std::uint32_t number, HostReply kind, std::string_view payload)>;
  void connect(Reply reply);

  // An execution begins, and may make that many calls.
  void begin(std::uint64_t max_calls);
  std::uint64_t calls() const;  // since then

  // What the guest says: `name NUL arguments` begins a call, on whose number no other one is in
  // progress. False for what is no call.
  bool call(std::uint32_t number, std::string_view payload);
  void cancel(std::uint32_t number);
  void cancel_all();

 private:
  struct Function {
    Callback callback;
    JsonSchema schema;
  };
  class Call;
  struct Gate;

  std::string begin_call(const std::shared_ptr<Call>& call);
  void run_on_thread(std::shared_ptr<const Function> function, std::shared_ptr<Call> call);
  void work();

  kernel::TimerThread& timers_;
  const unsigned max_threads_;
  std::shared_ptr<Gate> gate_;

  mutable Mutex mutex_;
  std::map<std::string, std::shared_ptr<const Function>, std::less<>> functions_ GUARDED_BY(mutex_);
  std::uint64_t version_ GUARDED_BY(mutex_) = 1;
  std::uint64_t max_calls_ GUARDED_BY(mutex_) = 0;
  std::uint64_t calls_ GUARDED_BY(mutex_) = 0;

  struct Job {
    std::shared_ptr<const Function> function;
    std::shared_ptr<Call> call;
  };
  Mutex jobs_mutex_;
  Condition jobs_changed_;
  std::deque<Job> jobs_ GUARDED_BY(jobs_mutex_);
  std::size_t idle_ GUARDED_BY(jobs_mutex_) = 0;
  bool ending_ GUARDED_BY(jobs_mutex_) = false;
  std::vector<std::thread> threads_ GUARDED_BY(jobs_mutex_);
};

}  // namespace cloche::python
