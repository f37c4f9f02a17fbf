// SPDX-License-Identifier: Apache-2.0
// TimerThread: one thread of the host that calls back at given moments, for all kernels of the
// process. It starts with the first timer; an idle one sleeps. Thread-safe; takes no kernel lock
// itself, and calls back without its own.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"

namespace cloche::kernel {

class TimerThread {
 public:
  using Time = SteadyTime;
  using Id = std::uint64_t;  // never 0, never reused

  explicit TimerThread(Clock& clock = host_clock()) : clock_(clock) {}
  ~TimerThread();  // nothing is called after it
  TimerThread(const TimerThread&) = delete;
  TimerThread& operator=(const TimerThread&) = delete;

  // `callback` runs once, at `when` or soon after, on the timer thread; it must be short and must
  // not throw. It may add and cancel timers. `owner` names whom drain() is for; may be null. Throws
  // HostError when the host gives no thread.
  Id add(Time when, const void* owner, std::function<void()> callback);
  // True: it will not run any more. False: it has run, or is running right now; this call does not
  // wait for it, so that it may be made with a lock held that the callback takes. The callback then
  // finds out for itself that nobody wants it.
  bool cancel(Id id);
  // Cancels all timers of the owner and waits until none of them is running. Not with a lock held
  // that a callback takes, and not from a callback. What the owner's callbacks refer to may be
  // destroyed afterwards.
  void drain(const void* owner);

  std::size_t size() const;
  // By which moments are meant here, and in the kernels that it serves.
  Clock& clock() noexcept { return clock_; }

 private:
  struct Timer {
    const void* owner = nullptr;
    std::function<void()> callback;
    Time when;
  };

  void run();

  Clock& clock_;
  mutable Mutex mutex_;
  Condition changed_;   // for the thread: an earlier timer, or the end
  Condition finished_;  // for drain: a callback has returned
  std::multimap<Time, Id> order_ GUARDED_BY(mutex_);
  std::unordered_map<Id, Timer> timers_ GUARDED_BY(mutex_);
  Id last_id_ GUARDED_BY(mutex_) = 0;
  Time sleeping_until_ GUARDED_BY(mutex_) =
      Time::min();  // min(): it is awake, and looks at the order before it sleeps
  const void* running_owner_ GUARDED_BY(mutex_) = nullptr;
  bool running_ GUARDED_BY(mutex_) = false;
  bool stopping_ GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace cloche::kernel
