// SPDX-License-Identifier: Apache-2.0
#include "kernel/time/timer_thread.h"

#include <system_error>
#include <utility>

#include "base/background_thread.h"
#include "base/host_error.h"
#include "base/thread_name.h"

namespace cloche::kernel {

TimerThread::~TimerThread() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

TimerThread::Id TimerThread::add(Time when, const void* owner, std::function<void()> callback) {
  const MutexLock lock(mutex_);
  if (!thread_.joinable()) {
    try {
      thread_ = background_thread([this] { run(); });
    } catch (const std::system_error& error) {
      throw HostError::from_errno("starting the timer thread", error.code().value());
    }
  }
  const Id id = ++last_id_;
  timers_.emplace(id, Timer{owner, std::move(callback), when});
  order_.emplace(when, id);
  if (when < sleeping_until_) changed_.notify_one();
  return id;
}

bool TimerThread::cancel(Id id) {
  std::function<void()>
      unwanted;  // destroyed without the lock: what it holds may have a destructor of its own
  const MutexLock lock(mutex_);
  const auto timer = timers_.find(id);
  if (timer == timers_.end()) return false;
  const auto [first, last] = order_.equal_range(timer->second.when);
  for (auto it = first; it != last; ++it) {
    if (it->second != id) continue;
    order_.erase(it);
    break;
  }
  unwanted = std::move(timer->second.callback);
  timers_.erase(timer);
  return true;
}

void TimerThread::drain(const void* owner) {
  std::vector<std::function<void()>> unwanted;
  ReleasableMutexLock lock(mutex_);
  for (;;) {
    for (auto it = order_.begin(); it != order_.end();) {
      const auto timer = timers_.find(it->second);
      if (timer->second.owner != owner) {
        ++it;
        continue;
      }
      unwanted.push_back(std::move(timer->second.callback));
      timers_.erase(timer);
      it = order_.erase(it);
    }
    if (!running_ || running_owner_ != owner) break;
    // The one that runs may add timers.
    finished_.wait(mutex_);
  }
  lock.unlock();
}

std::size_t TimerThread::size() const {
  const MutexLock lock(mutex_);
  return timers_.size();
}

void TimerThread::run() {
  name_thread("cloche-timers");
  ReleasableMutexLock lock(mutex_);
  while (!stopping_) {
    if (order_.empty()) {
      sleeping_until_ = Time::max();
      changed_.wait_until(mutex_, clock_, Time::max());
      sleeping_until_ = Time::min();
      continue;
    }
    const auto next = order_.begin();
    if (next->first > clock_.steady()) {
      const Time when = next->first;
      sleeping_until_ = when;
      changed_.wait_until(mutex_, clock_, when);
      sleeping_until_ = Time::min();
      continue;
    }
    const auto timer = timers_.find(next->second);
    std::function<void()> callback = std::move(timer->second.callback);
    running_owner_ = timer->second.owner;
    running_ = true;
    timers_.erase(timer);
    order_.erase(next);
    lock.unlock();
    callback();
    callback = nullptr;
    lock.lock();
    running_ = false;
    finished_.notify_all();
  }
}

}  // namespace cloche::kernel
