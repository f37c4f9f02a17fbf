// SPDX-License-Identifier: Apache-2.0
// Mutex: a std::mutex that clang's analysis knows, its scopes, and Condition, on which one sleeps
// with it held.
//
//   mutable Mutex mutex_;
//   Condition changed_;
//   std::deque<Job> jobs_ GUARDED_BY(mutex_);
//
//   const MutexLock lock(mutex_);
//   changed_.wait(mutex_, [this]() REQUIRES(mutex_) { return !jobs_.empty(); });
//
// A member that a Mutex guards says so, which `make tidy` checks (base/thread_annotations.h). It
// costs what a std::mutex does.
#pragma once

#include <condition_variable>
#include <mutex>
#include <shared_mutex>
#include <stop_token>
#include <utility>

#include "base/clock.h"
#include "base/thread_annotations.h"

namespace cloche {

class CAPABILITY("mutex") Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  // std::mutex says nothing to the analysis, so it cannot follow these two.
  void lock() ACQUIRE() NO_THREAD_SAFETY_ANALYSIS { mutex_.lock(); }
  void unlock() RELEASE() NO_THREAD_SAFETY_ANALYSIS { mutex_.unlock(); }

 private:
  friend class Condition;
  friend class MutexPairLock;
  std::mutex mutex_;
};

// Holds it as long as it lives.
class SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(); }
  ~MutexLock() RELEASE() { mutex_.unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

// The same; it may be given up, and taken again, before.
class SCOPED_CAPABILITY ReleasableMutexLock {
 public:
  explicit ReleasableMutexLock(Mutex& mutex) ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(); }
  ~ReleasableMutexLock() RELEASE() NO_THREAD_SAFETY_ANALYSIS {
    if (held_) mutex_.unlock();
  }
  ReleasableMutexLock(const ReleasableMutexLock&) = delete;
  ReleasableMutexLock& operator=(const ReleasableMutexLock&) = delete;

  void lock() ACQUIRE() NO_THREAD_SAFETY_ANALYSIS {
    mutex_.lock();
    held_ = true;
  }
  void unlock() RELEASE() NO_THREAD_SAFETY_ANALYSIS {
    held_ = false;
    mutex_.unlock();
  }

 private:
  Mutex& mutex_;
  bool held_ = true;
};

// Gives up what the caller holds, as long as it lives.
class SCOPED_CAPABILITY MutexUnlocked {
 public:
  explicit MutexUnlocked(Mutex& mutex) RELEASE(mutex) NO_THREAD_SAFETY_ANALYSIS : mutex_(mutex) {
    mutex_.unlock();
  }
  ~MutexUnlocked() RELEASE() NO_THREAD_SAFETY_ANALYSIS { mutex_.lock(); }
  MutexUnlocked(const MutexUnlocked&) = delete;
  MutexUnlocked& operator=(const MutexUnlocked&) = delete;

 private:
  Mutex& mutex_;
};

// Two of the same rank, which others may take the other way around at the same time.
class SCOPED_CAPABILITY MutexPairLock {
 public:
  MutexPairLock(Mutex& one, Mutex& other) ACQUIRE(one, other) NO_THREAD_SAFETY_ANALYSIS
      : lock_(one.mutex_, other.mutex_) {}
  ~MutexPairLock() RELEASE() NO_THREAD_SAFETY_ANALYSIS {}
  MutexPairLock(const MutexPairLock&) = delete;
  MutexPairLock& operator=(const MutexPairLock&) = delete;

 private:
  std::scoped_lock<std::mutex, std::mutex> lock_;
};

// Waits give the mutex up while they sleep. One without a predicate may return too early.
class Condition {
 public:
  Condition() = default;
  Condition(const Condition&) = delete;
  Condition& operator=(const Condition&) = delete;

  void notify_one() noexcept { condition_.notify_one(); }
  void notify_all() noexcept { condition_.notify_all(); }

  void wait(Mutex& mutex) REQUIRES(mutex) {
    Held held(mutex.mutex_);
    condition_.wait(held.lock);
  }
  std::cv_status wait_until(Mutex& mutex, SteadyTime until) REQUIRES(mutex) {
    Held held(mutex.mutex_);
    return condition_.wait_until(held.lock, until);
  }
  // By another clock than the host's own.
  void wait_until(Mutex& mutex, Clock& clock, SteadyTime until) REQUIRES(mutex) {
    Held held(mutex.mutex_);
    clock.sleep(condition_, held.lock, until);
  }
  // `done` is asked with the mutex held.
  template <typename Done>
  void wait(Mutex& mutex, Done done) REQUIRES(mutex) NO_THREAD_SAFETY_ANALYSIS {
    Held held(mutex.mutex_);
    condition_.wait(held.lock, done);
  }
  // What `done` says at last.
  template <typename Done>
  bool wait_until(Mutex& mutex, SteadyTime until, Done done)
      REQUIRES(mutex) NO_THREAD_SAFETY_ANALYSIS {
    Held held(mutex.mutex_);
    return condition_.wait_until(held.lock, until, done);
  }
  template <typename Duration, typename Done>
  bool wait_for(Mutex& mutex, Duration patience, Done done)
      REQUIRES(mutex) NO_THREAD_SAFETY_ANALYSIS {
    Held held(mutex.mutex_);
    return condition_.wait_for(held.lock, patience, done);
  }

 private:
  // The caller's lock, which stays held.
  struct Held {
    explicit Held(std::mutex& mutex) : lock(mutex, std::adopt_lock) {}
    ~Held() { lock.release(); }
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;
    std::unique_lock<std::mutex> lock;
  };

  std::condition_variable condition_;
};

// One that several may hold at once to read, or one to write.
class CAPABILITY("mutex") SharedMutex {
 public:
  SharedMutex() = default;
  SharedMutex(const SharedMutex&) = delete;
  SharedMutex& operator=(const SharedMutex&) = delete;

 private:
  friend class ReadLock;
  friend class WriteLock;
  std::shared_mutex mutex_;
};

class SCOPED_CAPABILITY ReadLock {
 public:
  explicit ReadLock(SharedMutex& mutex) ACQUIRE_SHARED(mutex) : lock_(mutex.mutex_) {}
  ~ReadLock() RELEASE() {}
  ReadLock(const ReadLock&) = delete;
  ReadLock& operator=(const ReadLock&) = delete;

 private:
  const std::shared_lock<std::shared_mutex> lock_;
};

class SCOPED_CAPABILITY WriteLock {
 public:
  explicit WriteLock(SharedMutex& mutex) ACQUIRE(mutex) : lock_(mutex.mutex_) {}
  ~WriteLock() RELEASE() {}
  WriteLock(const WriteLock&) = delete;
  WriteLock& operator=(const WriteLock&) = delete;

 private:
  const std::lock_guard<std::shared_mutex> lock_;
};

// One whose waits also end when they are asked to stop.
class StoppableCondition {
 public:
  StoppableCondition() = default;
  StoppableCondition(const StoppableCondition&) = delete;
  StoppableCondition& operator=(const StoppableCondition&) = delete;

  void notify_all() noexcept { condition_.notify_all(); }

  // What `done` says at last.
  template <typename Duration, typename Done>
  bool wait_for(Mutex& mutex, std::stop_token stop, Duration patience, Done done)
      REQUIRES(mutex) NO_THREAD_SAFETY_ANALYSIS {
    return condition_.wait_for(mutex, std::move(stop), patience, done);
  }
  template <typename Done>
  bool wait_until(Mutex& mutex, std::stop_token stop, SteadyTime until, Done done)
      REQUIRES(mutex) NO_THREAD_SAFETY_ANALYSIS {
    return condition_.wait_until(mutex, std::move(stop), until, done);
  }
  template <typename Duration, typename Done>
  bool wait_for(Mutex& mutex, Duration patience, Done done)
      REQUIRES(mutex) NO_THREAD_SAFETY_ANALYSIS {
    return condition_.wait_for(mutex, patience, done);
  }
  template <typename Done>
  bool wait_until(Mutex& mutex, SteadyTime until, Done done)
      REQUIRES(mutex) NO_THREAD_SAFETY_ANALYSIS {
    return condition_.wait_until(mutex, until, done);
  }

 private:
  std::condition_variable_any condition_;
};

}  // namespace cloche
