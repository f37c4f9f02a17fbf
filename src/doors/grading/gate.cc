// SPDX-License-Identifier: Apache-2.0
#include "doors/grading/gate.h"

#include <algorithm>
#include <exception>
#include <optional>
#include <utility>
#include <vector>

#include "base/share_limit.h"

namespace cloche::grading {

Gate::~Gate() {
  close();
  const MutexLock lock(mutex_);
  left_.wait(mutex_, [this]() REQUIRES(mutex_) { return inside_ == 0; });
}

bool Gate::has_place(const Line& line) const {
  return running_ < limits_.running || (line.running == 0 && running_ < 2 * limits_.running);
}

// For one more that waits, in all and of its owner. Who is nobody is all that there are.
bool Gate::has_room(const Job& job, const Line& line) const {
  if (waiting_ >= limits_.waiting || job.bytes > limits_.waiting_bytes - queued_bytes_)
    return false;
  if (job.owner.empty()) return true;
  const std::uint64_t most_bytes = three_quarters(limits_.waiting_bytes);
  return line.queue.size() < three_quarters(limits_.waiting) && line.bytes <= most_bytes &&
         job.bytes <= most_bytes - line.bytes;
}

// Its bytes count no more.
void Gate::leaves_queue(Line& line, const Job& job) {
  --waiting_;
  if (job.patience != Patience::limited) return;
  queued_bytes_ -= job.bytes;
  line.bytes -= job.bytes;
}

void Gate::enter(Job job) {
  {
    ReleasableMutexLock lock(mutex_);
    const auto found = lines_.find(job.owner);
    const Line none;
    const Line& known = found == lines_.end() ? none : found->second;
    const bool goes_on = has_place(known);
    if (closed_ || (!goes_on && job.patience == Patience::limited && !has_room(job, known))) {
      lock.unlock();
      return job.refused();
    }
    Line& line = lines_[job.owner];
    if (!goes_on) {
      if (job.patience == Patience::limited) {
        queued_bytes_ += job.bytes;
        line.bytes += job.bytes;
      }
      ++waiting_;
      line.queue.push_back({std::move(job), Clock::now()});
      return watch();
    }
    ++running_;
    ++inside_;
    ++line.running;
  }
  if (job.patience == Patience::endless) return start(std::move(job));
  const std::string owner = job.owner;
  workers_.do_here([this, job = std::move(job)]() mutable { do_job(std::move(job)); }, owner);
}

void Gate::do_job(Job job) {
  try {
    job.work();
  } catch (const std::exception&) {
    // It has ended, and its client is told so by whoever has its exchange.
  }
  const std::string owner = std::move(job.owner);
  job = {};
  pass_on(owner);
}

// Of the owners that have a place, one that has the fewest in progress, and of these who waits for
// the longest time.
std::optional<Gate::Job> Gate::take_next() {
  Line* best = nullptr;
  for (auto& [owner, line] : lines_) {
    if (line.queue.empty() || !has_place(line)) continue;
    if (best == nullptr || std::pair(line.running, line.queue.front().since) <
                               std::pair(best->running, best->queue.front().since)) {
      best = &line;
    }
  }
  if (best == nullptr) return std::nullopt;
  Job job = std::move(best->queue.front().job);
  best->queue.pop_front();
  leaves_queue(*best, job);
  ++running_;
  ++inside_;
  ++best->running;
  return job;
}

void Gate::pass_on(const std::string& owner) {
  look_for_late_ones();
  std::vector<Job> next;
  {
    const MutexLock lock(mutex_);
    --running_;
    const auto line = lines_.find(owner);
    if (--line->second.running == 0 && line->second.queue.empty()) lines_.erase(line);
    while (std::optional<Job> job = take_next()) next.push_back(*std::move(job));
  }
  for (Job& job : next) start(std::move(job));
  // Under the lock: the gate may be gone as soon as it is released.
  const MutexLock lock(mutex_);
  if (--inside_ == 0) left_.notify_all();
}

void Gate::start(Job job) {
  workers_.post([this, job = std::move(job)]() mutable { do_job(std::move(job)); });
}

void Gate::look_for_late_ones() {
  std::vector<Job> late;
  {
    const MutexLock lock(mutex_);
    const Clock::time_point now = Clock::now();
    for (auto line = lines_.begin(); line != lines_.end();) {
      std::deque<Waiting>& queue = line->second.queue;
      std::erase_if(queue, [&](Waiting& one) REQUIRES(mutex_) {
        if (one.job.patience == Patience::endless || now - one.since <= limits_.patience)
          return false;
        leaves_queue(line->second, one.job);
        late.push_back(std::move(one.job));
        return true;
      });
      line = line->second.running == 0 && queue.empty() ? lines_.erase(line) : std::next(line);
    }
  }
  for (const Job& job : late) job.refused();
}

// One timer, for the one that has waited for the longest time.
void Gate::watch() {
  if (watching_ || closed_) return;
  std::optional<Clock::time_point> oldest;
  for (const auto& [owner, line] : lines_) {
    for (const Waiting& one : line.queue) {
      if (one.job.patience == Patience::limited && (!oldest || one.since < *oldest))
        oldest = one.since;
    }
  }
  if (!oldest) return;
  watching_ = true;
  // A moment later, so that it is late then.
  (void)timers_.at(*oldest + limits_.patience + std::chrono::milliseconds(1), [this] {
    look_for_late_ones();
    const MutexLock lock(mutex_);
    watching_ = false;
    watch();
  });
}

void Gate::close() {
  std::vector<Job> all;
  {
    const MutexLock lock(mutex_);
    closed_ = true;
    for (auto& [owner, line] : lines_) {
      for (Waiting& one : line.queue) all.push_back(std::move(one.job));
      line.queue.clear();
      line.bytes = 0;
    }
    waiting_ = 0;
    queued_bytes_ = 0;
  }
  for (const Job& one : all) one.refused();
}

std::size_t Gate::running() const {
  const MutexLock lock(mutex_);
  return running_;
}

std::size_t Gate::waiting() const {
  const MutexLock lock(mutex_);
  return waiting_;
}

}  // namespace cloche::grading
