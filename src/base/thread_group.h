// SPDX-License-Identifier: Apache-2.0
// ThreadGroup: threads that end by themselves, and of which nothing is left once the group has
// ended: not the objects of a thread either, which are destroyed after its last function has
// returned.
//
// Thread-safe; but nothing is started once somebody waits.
#pragma once

#include <functional>
#include <list>
#include <thread>

#include "base/mutex.h"

namespace cloche {

class ThreadGroup {
 public:
  ThreadGroup() = default;
  ~ThreadGroup() { wait(); }
  ThreadGroup(const ThreadGroup&) = delete;
  ThreadGroup& operator=(const ThreadGroup&) = delete;

  // Has a new thread do the work, which must not throw. Throws std::system_error where the host
  // gives none, and std::bad_alloc.
  void start(std::function<void()> work);

  // Until all have ended. Not from one of them.
  void wait();

 private:
  using Threads = std::list<std::thread>;

  void leave(Threads::iterator self);

  Mutex mutex_;
  Condition changed_;
  Threads running_ GUARDED_BY(mutex_);
  Threads ended_ GUARDED_BY(mutex_);  // but for their own objects; the next that ends joins them
};

}  // namespace cloche
