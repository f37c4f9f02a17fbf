// SPDX-License-Identifier: Apache-2.0
#include "doors/remote/ticker.h"

#include <utility>

namespace cloche::remote {

Ticker::Id Ticker::add(std::chrono::milliseconds interval, std::function<void()> call) {
  const MutexLock lock(mutex_);
  const Id id = ++last_;
  const auto entry = entries_.emplace(id, Entry{interval, std::move(call), {}}).first;
  arm(id, entry->second, std::chrono::steady_clock::now());
  return id;
}

void Ticker::remove(Id id) {
  session::Timers::Id timer;
  {
    const MutexLock lock(mutex_);
    const auto entry = entries_.find(id);
    if (entry == entries_.end()) return;
    timer = entry->second.timer;
    entries_.erase(entry);
  }
  timers_.cancel(timer);
}

// Under the lock.
void Ticker::arm(Id id, Entry& entry, session::Timers::Time when) {
  entry.timer = timers_.at(when, [this, id] { tick(id); });
}

void Ticker::tick(Id id) {
  std::function<void()> call;
  session::Timers::Time next;
  {
    const MutexLock lock(mutex_);
    const auto entry = entries_.find(id);
    if (entry == entries_.end()) return;
    call = entry->second.call;
    next = std::chrono::steady_clock::now() + entry->second.interval;
  }
  call();
  const MutexLock lock(mutex_);
  if (const auto entry = entries_.find(id); entry != entries_.end()) arm(id, entry->second, next);
}

}  // namespace cloche::remote
