// SPDX-License-Identifier: Apache-2.0
#include "session/timers.h"

namespace cloche::session {

Timers::Timers() : thread_([this] { serve(); }) {}

Timers::~Timers() {
  {
    const MutexLock lock(mutex_);
    closing_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

Timers::Id Timers::at(Time when, std::function<void()> work) {
  const MutexLock lock(mutex_);
  const Id id{when, ++last_};
  waiting_.emplace(id, std::move(work));
  if (waiting_.begin()->first == id) changed_.notify_all();
  return id;
}

void Timers::cancel(const Id& id) {
  const MutexLock lock(mutex_);
  if (waiting_.erase(id) > 0 || std::this_thread::get_id() == thread_.get_id()) return;
  changed_.wait(mutex_, [&]() REQUIRES(mutex_) { return running_ != id || id.number == 0; });
}

void Timers::serve() {
  ReleasableMutexLock lock(mutex_);
  while (!closing_) {
    if (waiting_.empty()) {
      changed_.wait(mutex_);
      continue;
    }
    const auto next = waiting_.begin();
    if (next->first.when > std::chrono::steady_clock::now()) {
      const Time when = next->first.when;
      changed_.wait_until(mutex_, when);
      continue;
    }
    running_ = next->first;
    std::function<void()> work = std::move(next->second);
    waiting_.erase(next);
    lock.unlock();
    work();
    work = nullptr;
    lock.lock();
    running_ = {};
    changed_.notify_all();
  }
}

}  // namespace cloche::session
