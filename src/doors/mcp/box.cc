// SPDX-License-Identifier: Apache-2.0
#include "doors/mcp/box.h"

#include <fmt/format.h>

#include <algorithm>

#include "doors/mcp/tool_error.h"

namespace cloche::mcp {

Box::Box(Facts facts, Maker maker, session::WorkerPool& pool)
    : facts_(std::move(facts)), pool_(pool), maker_(std::move(maker)) {}

bool Box::post(std::function<void()> job) {
  const MutexLock lock(mutex_);
  if (queue_.size() >= waiting_limit) return false;
  queue_.push_back(std::move(job));
  ++uses_;
  if (active_) return true;
  active_ = true;
  pool_.post([self = shared_from_this()] { self->serve(); }, facts_.owner);
  return true;
}

void Box::serve() {
  ReleasableMutexLock lock(mutex_);
  while (!queue_.empty()) {
    std::function<void()> job = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    job();
    job = nullptr;
    end_use();
    lock.lock();
  }
  active_ = false;
}

void Box::post_at_once(std::function<void()> job) {
  begin_use();
  pool_.post(
      [self = shared_from_this(), job = std::move(job)] {
        job();
        self->end_use();
      },
      facts_.owner);
}

void Box::begin_use() {
  const MutexLock lock(mutex_);
  ++uses_;
}

void Box::end_use() {
  const MutexLock lock(mutex_);
  --uses_;
  last_use_ = Clock::now();
}

std::chrono::milliseconds Box::idle() const {
  const MutexLock lock(mutex_);
  if (uses_ > 0) return std::chrono::milliseconds(0);
  return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - last_use_);
}

LiveSandbox Box::live_if_made() const {
  const MutexLock lock(mutex_);
  return live_;
}

std::shared_ptr<Processes> Box::processes() const {
  const MutexLock lock(mutex_);
  return processes_;
}

LiveSandbox Box::live() {
  const auto look = [&] {
    const MutexLock lock(mutex_);
    if (closed_) throw ToolError{fmt::format("the sandbox '{}' was deleted", facts_.name)};
    return live_;
  };
  if (LiveSandbox there = look()) return there;
  const MutexLock making(making_);
  if (LiveSandbox there = look()) return there;
  LiveSandbox made = maker_();
  maker_ = nullptr;
  const MutexLock lock(mutex_);
  if (closed_) throw ToolError{fmt::format("the sandbox '{}' was deleted", facts_.name)};
  live_ = made;
  return made;
}

void Box::set_live(LiveSandbox live) {
  auto processes = std::make_shared<Processes>();
  {
    const MutexLock lock(mutex_);
    if (closed_) throw ToolError{fmt::format("the sandbox '{}' was deleted", facts_.name)};
    std::swap(live_, live);
    std::swap(processes_, processes);
  }
  // What was there ends here and not under the lock: it may have processes.
  processes->end_all();
}

void Box::close() {
  LiveSandbox live;
  std::shared_ptr<Processes> processes;
  {
    const MutexLock lock(mutex_);
    closed_ = true;
    std::swap(live, live_);
    processes = processes_;
  }
  closing_.request_stop();
  processes->end_all();
  if (!live) return;
  live.sandbox->cancel();
  live.python->cancel();
}

std::optional<Box::Clock::time_point> Box::due() const {
  std::optional<Clock::time_point> due;
  if (facts_.ttl.count() > 0) due = created_steady_ + facts_.ttl;
  if (facts_.idle_timeout.count() == 0) return due;
  const MutexLock lock(mutex_);
  const Clock::time_point idle = (uses_ > 0 ? Clock::now() : last_use_) + facts_.idle_timeout;
  return due ? std::min(*due, idle) : idle;
}

}  // namespace cloche::mcp
