// SPDX-License-Identifier: Apache-2.0
// The lock of a kernel, in types: the mutex, the scopes that hold it, and `kernel_lock`, by which
// functions and data name it.
//
//   ProcessPtr find(Pid pid) const REQUIRES(kernel_lock);   // called with it held
//   void kill_job(JobId job) EXCLUDES(kernel_lock);         // takes it
//   Pid ppid GUARDED_BY(kernel_lock) = 0;                   // touched with it held
//
// There is a mutex for each kernel, and one name for all of them: a process or a file cannot name
// the member of its kernel, and no thread holds two at a time. `make tidy` checks it
// (base/thread_annotations.h says what it does not see); it costs nothing at run time.
#pragma once

#include <mutex>
#include <utility>

#include "base/thread_annotations.h"

namespace cloche::kernel {

class CAPABILITY("role") KernelRole {};
// That this thread holds the lock of the kernel on which it acts.
inline constexpr KernelRole kernel_lock;

class KernelMutex {
 public:
  KernelMutex() = default;
  KernelMutex(const KernelMutex&) = delete;
  KernelMutex& operator=(const KernelMutex&) = delete;

  // std::mutex says nothing to the analysis, so it cannot follow these.
  void lock() ACQUIRE(kernel_lock) NO_THREAD_SAFETY_ANALYSIS { mutex_.lock(); }
  void unlock() RELEASE(kernel_lock) NO_THREAD_SAFETY_ANALYSIS { mutex_.unlock(); }
  // Whether it has it now; it does not wait.
  bool try_lock() TRY_ACQUIRE(true, kernel_lock) NO_THREAD_SAFETY_ANALYSIS {
    return mutex_.try_lock();
  }

 private:
  friend class KernelLock;
  friend class ReleasableKernelLock;
  friend class Waiter;
  std::mutex mutex_;
};

// A lock that is held and on its way from one scope to another, which the analysis does not follow:
// made by ReleasableKernelLock::hand_over, taken by a KernelLock. It gives the lock up when nobody
// takes it.
class HeldKernelLock {
 private:
  friend class KernelLock;
  friend class ReleasableKernelLock;
  explicit HeldKernelLock(std::unique_lock<std::mutex> lock) : lock_(std::move(lock)) {}
  std::unique_lock<std::mutex> lock_;
};

// Holds the lock as long as it lives.
class SCOPED_CAPABILITY KernelLock {
 public:
  explicit KernelLock(KernelMutex& mutex) ACQUIRE(kernel_lock) : mutex_(mutex.mutex_) {
    mutex_.lock();
  }
  // That try_lock has taken.
  KernelLock(KernelMutex& mutex, std::adopt_lock_t) REQUIRES(kernel_lock) : mutex_(mutex.mutex_) {}
  explicit KernelLock(HeldKernelLock held) ACQUIRE(kernel_lock) : mutex_(*held.lock_.release()) {}
  ~KernelLock() RELEASE() { mutex_.unlock(); }
  KernelLock(const KernelLock&) = delete;
  KernelLock& operator=(const KernelLock&) = delete;

 private:
  std::mutex& mutex_;
};

// The same; it may be given up, and taken again, before.
class SCOPED_CAPABILITY ReleasableKernelLock {
 public:
  explicit ReleasableKernelLock(KernelMutex& mutex) ACQUIRE(kernel_lock) : lock_(mutex.mutex_) {}
  ~ReleasableKernelLock() RELEASE() {}
  ReleasableKernelLock(const ReleasableKernelLock&) = delete;
  ReleasableKernelLock& operator=(const ReleasableKernelLock&) = delete;

  void lock() ACQUIRE() { lock_.lock(); }
  void unlock() RELEASE() { lock_.unlock(); }
  HeldKernelLock hand_over() RELEASE() { return HeldKernelLock(std::move(lock_)); }

 private:
  std::unique_lock<std::mutex> lock_;
};

// Gives a lock that is held up for a scope, and takes it back however the scope is left.
class SCOPED_CAPABILITY KernelUnlocked {
 public:
  explicit KernelUnlocked(KernelMutex& mutex) RELEASE(kernel_lock) : mutex_(mutex) {
    mutex_.unlock();
  }
  ~KernelUnlocked() RELEASE() { mutex_.lock(); }
  KernelUnlocked(const KernelUnlocked&) = delete;
  KernelUnlocked& operator=(const KernelUnlocked&) = delete;

 private:
  KernelMutex& mutex_;
};

}  // namespace cloche::kernel
