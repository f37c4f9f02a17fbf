// SPDX-License-Identifier: Apache-2.0
#include "base/thread_group.h"

#include <utility>

namespace cloche {

void ThreadGroup::start(std::function<void()> work) {
  const MutexLock lock(mutex_);
  const auto place = running_.emplace(running_.end());
  try {
    *place = std::thread([this, place, work = std::move(work)] {
      work();
      leave(place);
    });
  } catch (...) {
    running_.erase(place);
    throw;
  }
}

void ThreadGroup::leave(Threads::iterator self) {
  Threads before;
  {
    const MutexLock lock(mutex_);
    before.swap(ended_);
    ended_.splice(ended_.end(), running_, self);
    changed_.notify_all();
  }
  for (std::thread& thread : before) thread.join();
}

void ThreadGroup::wait() {
  Threads last;
  {
    const MutexLock lock(mutex_);
    changed_.wait(mutex_, [this]() REQUIRES(mutex_) { return running_.empty(); });
    last.swap(ended_);
  }
  for (std::thread& thread : last) thread.join();
}

}  // namespace cloche
