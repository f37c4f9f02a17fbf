// SPDX-License-Identifier: Apache-2.0
// Timers: work to be done at a time, on one thread that sleeps until then. It is there from the
// beginning, so that whoever has work for it gets it done whatever the host gives by then.
// Thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <thread>
#include <utility>

#include "base/mutex.h"

namespace cloche::session {

class Timers {
 public:
  using Time = std::chrono::steady_clock::time_point;
  struct Id {
    Time when;
    std::uint64_t number = 0;
    auto operator<=>(const Id&) const = default;
  };

  // Throws std::system_error where the host gives no thread.
  Timers();
  ~Timers();
  Timers(const Timers&) = delete;
  Timers& operator=(const Timers&) = delete;

  // `work` must be quick and must not throw; it may call `at` and `cancel`.
  Id at(Time when, std::function<void()> work);
  // From here on the work is not done any more, and is not in progress, but where it calls this
  // itself. Nothing for one that was done.
  void cancel(const Id& id);

 private:
  void serve();

  Mutex mutex_;
  Condition changed_;
  std::map<Id, std::function<void()>> waiting_ GUARDED_BY(mutex_);
  std::uint64_t last_ GUARDED_BY(mutex_) = 0;
  Id running_ GUARDED_BY(mutex_);  // number 0: none
  bool closing_ GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace cloche::session
