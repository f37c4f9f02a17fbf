// SPDX-License-Identifier: Apache-2.0
// TimedMutex: a mutex for which a thread waits only so long, for long work that goes one after the
// other. It is what std::timed_mutex is, for std::unique_lock, made of what sanitizers follow: they
// know nothing of the system's call that waits for a mutex until a time.
#pragma once

#include <chrono>

#include "base/mutex.h"

namespace cloche {

class TimedMutex {
 public:
  TimedMutex() = default;
  TimedMutex(const TimedMutex&) = delete;
  TimedMutex& operator=(const TimedMutex&) = delete;

  void lock() {
    const MutexLock lock(mutex_);
    freed_.wait(mutex_, [this]() REQUIRES(mutex_) { return !is_taken_; });
    is_taken_ = true;
  }
  bool try_lock() { return try_lock_for(std::chrono::steady_clock::duration::zero()); }
  // Whether it has it.
  bool try_lock_for(std::chrono::steady_clock::duration patience) {
    const auto until = std::chrono::steady_clock::now() + patience;
    const MutexLock lock(mutex_);
    if (!freed_.wait_until(mutex_, until, [this]() REQUIRES(mutex_) { return !is_taken_; }))
      return false;
    is_taken_ = true;
    return true;
  }
  void unlock() {
    const MutexLock lock(mutex_);
    is_taken_ = false;
    freed_.notify_one();
  }

 private:
  Mutex mutex_;
  Condition freed_;
  bool is_taken_ GUARDED_BY(mutex_) = false;
};

}  // namespace cloche
