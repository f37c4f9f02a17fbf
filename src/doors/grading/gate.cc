// SPDX-License-Identifier: Apache-2.0
#include "doors/grading/gate.h"

#include <optional>
#include <utility>
#include <vector>

namespace cloche::grading {

void Gate::enter(Job job) {
  {
    ReleasableMutexLock lock(mutex_);
    const bool has_room =
        queue_.size() < limits_.waiting && job.bytes <= limits_.waiting_bytes - queued_bytes_;
    if (closed_ ||
        (running_ >= limits_.running && !has_room && job.patience == Patience::limited)) {
      lock.unlock();
      return job.refused();
    }
    if (running_ >= limits_.running) {
      if (job.patience == Patience::limited) queued_bytes_ += job.bytes;
      queue_.push_back({std::move(job), Clock::now()});
      return;
    }
    ++running_;
  }
  workers_.do_here([this, job = std::move(job)] {
    job.work();
    pass_on();
  });
}

void Gate::pass_on() {
  std::vector<Job> late;
  std::optional<Job> next;
  {
    const MutexLock lock(mutex_);
    const Clock::time_point now = Clock::now();
    while (!queue_.empty() && !next) {
      Waiting first = std::move(queue_.front());
      queue_.pop_front();
      if (first.job.patience == Patience::limited) {
        queued_bytes_ -= first.job.bytes;
        if (now - first.since > limits_.patience) {
          late.push_back(std::move(first.job));
          continue;
        }
      }
      next = std::move(first.job);
    }
    if (!next) --running_;
  }
  for (const Job& job : late) job.refused();
  if (!next) return;
  workers_.post([this, job = *std::move(next)] {
    job.work();
    pass_on();
  });
}

void Gate::close() {
  std::deque<Waiting> all;
  {
    const MutexLock lock(mutex_);
    closed_ = true;
    all.swap(queue_);
    queued_bytes_ = 0;
  }
  for (const Waiting& one : all) one.job.refused();
}

std::size_t Gate::running() const {
  const MutexLock lock(mutex_);
  return running_;
}

std::size_t Gate::waiting() const {
  const MutexLock lock(mutex_);
  return queue_.size();
}

}  // namespace cloche::grading
