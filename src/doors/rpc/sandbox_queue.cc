// SPDX-License-Identifier: Apache-2.0
#include "doors/rpc/sandbox_queue.h"

#include <utility>

namespace cloche::rpc {
namespace {

// A request that was begun but has no process yet is not reached by Subject::cancel, so it is told
// again until it ends.
constexpr std::chrono::milliseconds cancel_again{5};

}  // namespace

SandboxQueue::~SandboxQueue() = default;

bool SandboxQueue::post(Job job) {
  const MutexLock lock(mutex_);
  if (closed_ || queue_.size() >= queue_limit) return false;
  queue_.push_back(std::move(job));
  if (active_) return true;
  active_ = true;
  pool_.post([self = shared_from_this()] { self->serve(); });
  return true;
}

void SandboxQueue::serve() {
  ReleasableMutexLock lock(mutex_);
  while (!queue_.empty()) {
    Job job = std::move(queue_.front());
    queue_.pop_front();
    running_ = job.id;
    runs_ = job.runs;
    ++serial_;
    stop_ = std::stop_source();
    lock.unlock();
    job.work();
    job = {};
    lock.lock();
    running_.reset();
    cancelling_ = false;
    changed_.notify_all();
  }
  std::shared_ptr<Subject> dropped;
  std::map<std::string, LiveSandbox> snapshots;
  if (closed_) {
    dropped = std::exchange(subject_, nullptr);
    snapshots = std::move(snapshots_);
  }
  lock.unlock();
  snapshots.clear();
  dropped.reset();
  lock.lock();
  // A request that came meanwhile starts the next turn.
  active_ = !queue_.empty();
  if (active_) pool_.post([self = shared_from_this()] { self->serve(); });
  changed_.notify_all();
}

bool SandboxQueue::cancel(const std::string& id) {
  ReleasableMutexLock lock(mutex_);
  if (running_ == id) {
    stop_running(serial_);
    return true;
  }
  for (auto job = queue_.begin(); job != queue_.end(); ++job) {
    if (job->id != id) continue;
    const Job taken = std::move(*job);
    queue_.erase(job);
    lock.unlock();
    taken.cancelled();
    return true;
  }
  return false;
}

void SandboxQueue::stop_running(std::uint64_t serial) {
  if (cancelling_) return;
  cancelling_ = true;
  stop_.request_stop();
  pool_.post([self = shared_from_this(), serial, runs = runs_] {
    const MutexLock lock(self->mutex_);
    while (self->running_ && self->serial_ == serial) {
      // A sandbox that ends needs none of its processes any more.
      const Runs stopped = self->closed_ && runs == Runs::commands ? Runs::processes : runs;
      // Under the lock, so that the next request has not begun.
      if (self->subject_ && stopped != Runs::commands &&
          (stopped != Runs::python || self->has_python_turn_))
        self->subject_->cancel(stopped);
      self->changed_.wait_for(self->mutex_, cancel_again, [&]() REQUIRES(self->mutex_) {
        return !self->running_ || self->serial_ != serial;
      });
    }
  });
}

void SandboxQueue::cancel_all() {
  std::deque<Job> taken;
  {
    const MutexLock lock(mutex_);
    taken.swap(queue_);
    if (running_) stop_running(serial_);
  }
  for (const Job& job : taken) job.cancelled();
}

void SandboxQueue::close() {
  {
    const MutexLock lock(mutex_);
    closed_ = true;
    if (!active_) {
      active_ = true;
      pool_.post([self = shared_from_this()] { self->serve(); });
    }
  }
  cancel_all();
}

bool SandboxQueue::wait_idle(std::chrono::steady_clock::time_point deadline) {
  const MutexLock lock(mutex_);
  return changed_.wait_until(mutex_, deadline, [this]() REQUIRES(mutex_) { return !active_; });
}

bool SandboxQueue::is_busy() const {
  const MutexLock lock(mutex_);
  return active_;
}

std::shared_ptr<Subject> SandboxQueue::subject() const {
  const MutexLock lock(mutex_);
  return subject_;
}

void SandboxQueue::set_subject(std::shared_ptr<Subject> subject) {
  const MutexLock lock(mutex_);
  subject_ = std::move(subject);
}

std::stop_token SandboxQueue::stop_token() const {
  const MutexLock lock(mutex_);
  return stop_.get_token();
}

void SandboxQueue::remember(HistoryEntry entry) {
  entry.number = ++last_command_;
  if (entry.command.size() > history_limit_bytes) return;
  history_bytes_ += entry.command.size();
  history_.push_back(std::move(entry));
  while (history_.size() > history_limit || history_bytes_ > history_limit_bytes) {
    history_bytes_ -= history_.front().command.size();
    history_.pop_front();
  }
}

void SandboxQueue::forget_history() noexcept {
  history_.clear();
  history_bytes_ = 0;
}

bool SandboxQueue::is_cancelled() const {
  const MutexLock lock(mutex_);
  return cancelling_;
}

}  // namespace cloche::rpc
