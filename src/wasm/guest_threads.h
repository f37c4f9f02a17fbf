// SPDX-License-Identifier: Apache-2.0
// GuestThreads: the host threads that guests run on.
//
// Each has guest_thread_stack_bytes of stack (reserved, used as touched), blocks all signals but
// those of faults, and is kept for the next guest when its work is done, up to a bound. There is no
// limit on how many run at once: that is for whoever counts processes. Handing work to an idle
// thread takes some microseconds, starting a new one some tens.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "base/mutex.h"
#include "base/result.h"

namespace cloche::wasm {

class RunHere;

class GuestThreads {
 public:
  // `max_idle`: how many threads wait for work; one more than that ends.
  explicit GuestThreads(std::size_t max_idle = 64);

  // Waits for all work to end. Whoever destroys it has seen to it that the guests stop.
  ~GuestThreads();
  GuestThreads(const GuestThreads&) = delete;
  GuestThreads& operator=(const GuestThreads&) = delete;

  // Runs `work` on a thread of its own, at once; or leaves it to `here`, where that takes it.
  // EAGAIN when the host gives no more threads. `work` must not throw. Any thread, also from within
  // work.
  Result<void> run(std::function<void()> work, RunHere* here = nullptr);

  // Lowers the priority of the calling thread to `steps` of nice(2) below that of the pool, if it
  // is one of a pool and has a higher one. For good, since a process may not raise priorities: the
  // thread ends with its work, and the next work gets one of full priority.
  static void lower_priority(int steps) noexcept;
  // Whether that was done to the calling thread.
  static bool is_lowered() noexcept;

  std::size_t idle_count() const;
  std::size_t thread_count() const;

 private:
  struct Worker;
  static void* worker_main(void* argument) noexcept;
  void serve(Worker& worker) noexcept;
  Result<void> start(std::function<void()> work) REQUIRES(mutex_);
  Result<void> create(Worker& worker) REQUIRES(mutex_);
  static Result<void> create_here(Worker& worker);
  void serve_starts() noexcept;
  void begin_starter() REQUIRES(mutex_);

  static thread_local Worker* own_worker;
  void reap() REQUIRES(mutex_);

  const std::size_t max_idle_;
  mutable Mutex mutex_;
  std::list<std::unique_ptr<Worker>> workers_ GUARDED_BY(mutex_);  // running and idle
  std::deque<Worker*> idle_ GUARDED_BY(mutex_);  // the latest last: its stack is warm
  std::list<std::unique_ptr<Worker>> ended_ GUARDED_BY(mutex_);  // to be joined
  bool stopping_ GUARDED_BY(mutex_) = false;
  Condition changed_;  // a worker ended
  // A new thread has the priority of the one that makes it: for one that was lowered the starter
  // makes it, which never is.
  struct Start {
    Worker* worker;
    std::optional<Result<void>> result;
  };
  std::thread starter_ GUARDED_BY(mutex_);
  std::deque<Start*> starts_ GUARDED_BY(mutex_);
  bool starter_ends_ GUARDED_BY(mutex_) = false;
  Condition start_changed_;
};

}  // namespace cloche::wasm
