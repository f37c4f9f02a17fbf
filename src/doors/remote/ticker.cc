// SPDX-License-Identifier: Apache-2.0
#include "doors/remote/ticker.h"

#include <algorithm>
#include <utility>

namespace cloche::remote {

Ticker::~Ticker() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

Ticker::Id Ticker::add(std::chrono::milliseconds interval, std::function<void()> call) {
  const std::lock_guard lock(mutex_);
  const Id id = ++last_;
  entries_.emplace(id, Entry{Clock::now(), interval, std::move(call)});
  if (!thread_.joinable()) thread_ = std::thread([this] { work(); });
  changed_.notify_all();
  return id;
}

void Ticker::remove(Id id) {
  std::unique_lock lock(mutex_);
  entries_.erase(id);
  changed_.wait(lock, [&] { return calling_ != id; });
}

void Ticker::work() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    const auto next =
        std::ranges::min_element(entries_, {}, [](const auto& entry) { return entry.second.due; });
    if (next == entries_.end()) {
      changed_.wait(lock);
      continue;
    }
    const auto now = Clock::now();
    if (next->second.due > now) {
      changed_.wait_until(lock, Clock::time_point(next->second.due));
      continue;
    }
    next->second.due = now + next->second.interval;
    calling_ = next->first;
    const std::function<void()> call = next->second.call;
    lock.unlock();
    call();
    lock.lock();
    calling_ = 0;
    changed_.notify_all();
  }
}

}  // namespace cloche::remote
