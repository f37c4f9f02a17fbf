// SPDX-License-Identifier: Apache-2.0
// GuestThreads: the host threads that guests run on.
//
// Each has guest_thread_stack_bytes of stack (reserved, used as touched), blocks all signals but
// those of faults, and is kept for the next guest when its work is done, up to a bound. There is no
// limit on how many run at once: that is for whoever counts processes. Handing work to an idle
// thread takes some microseconds, starting a new one some tens.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <mutex>

#include "base/result.h"

namespace cloche::wasm {

class GuestThreads {
 public:
  // `max_idle`: how many threads wait for work; one more than that ends.
  explicit GuestThreads(std::size_t max_idle = 64);

  // Waits for all work to end. Whoever destroys it has seen to it that the guests stop.
  ~GuestThreads();
  GuestThreads(const GuestThreads&) = delete;
  GuestThreads& operator=(const GuestThreads&) = delete;

  // Runs `work` on a thread of its own, at once. EAGAIN when the host gives no more threads. `work`
  // must not throw. Any thread, also from within work.
  Result<void> run(std::function<void()> work);

  std::size_t idle_count() const;
  std::size_t thread_count() const;

 private:
  struct Worker;
  static void* worker_main(void* argument) noexcept;
  void serve(Worker& worker) noexcept;
  Result<void> start(std::function<void()> work);
  void reap(std::unique_lock<std::mutex>& lock);

  const std::size_t max_idle_;
  mutable std::mutex mutex_;
  std::list<std::unique_ptr<Worker>> workers_;  // running and idle
  std::deque<Worker*> idle_;                    // the latest last: its stack is warm
  std::list<std::unique_ptr<Worker>> ended_;    // to be joined
  bool stopping_ = false;
  std::condition_variable changed_;  // a worker ended
};

}  // namespace cloche::wasm
