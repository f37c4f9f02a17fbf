// SPDX-License-Identifier: Apache-2.0
#include "session/worker_pool.h"

#include <chrono>
#include <vector>

#include "base/host_error.h"
#include "base/share_limit.h"
#include "base/trace_context.h"
#include "wasm/guest_threads.h"

namespace cloche::session {
namespace {

constexpr std::chrono::seconds patience{5};

// One more, for as long as it lives, whichever way that ends.
class Count {
 public:
  explicit Count(std::atomic<std::size_t>& count) : before(count.fetch_add(1)), count_(count) {}
  ~Count() { --count_; }
  Count(const Count&) = delete;
  Count& operator=(const Count&) = delete;

  const std::size_t before;

 private:
  std::atomic<std::size_t>& count_;
};

}  // namespace

// A thread for all pools of the process, for when the host gives no more: it has been there before.
class WorkerPool::Rescue {
 public:
  // Throws HostError.
  static std::shared_ptr<Rescue> of_this_process() {
    static Mutex mutex;
    static std::weak_ptr<Rescue> known;
    const MutexLock lock(mutex);
    std::shared_ptr<Rescue> one = known.lock();
    if (!one) known = one = std::make_shared<Rescue>();
    return one;
  }

  Rescue() {
    if (const Result<void> begun = host_.run([this] { serve(); }); !begun)
      throw HostError("this machine gives no thread for work: it has too many", begun.error());
  }
  ~Rescue() {
    const MutexLock lock(mutex_);
    is_over_ = true;
    changed_.notify_all();
  }
  Rescue(const Rescue&) = delete;
  Rescue& operator=(const Rescue&) = delete;

  void run(std::function<void()> work) {
    const MutexLock lock(mutex_);
    queue_.push_back(std::move(work));
    changed_.notify_all();
  }

 private:
  void serve() {
    ReleasableMutexLock lock(mutex_);
    for (;;) {
      changed_.wait(mutex_, [this]() REQUIRES(mutex_) { return is_over_ || !queue_.empty(); });
      if (queue_.empty()) return;
      std::function<void()> work = std::move(queue_.front());
      queue_.pop_front();
      lock.unlock();
      work();
      work = nullptr;
      lock.lock();
      if (wasm::GuestThreads::is_lowered() && host_.run([this] { serve(); })) return;
    }
  }

  Mutex mutex_;
  Condition changed_;
  std::deque<std::function<void()>> queue_ GUARDED_BY(mutex_);
  bool is_over_ GUARDED_BY(mutex_) = false;
  wasm::GuestThreads host_{0};  // whose thread ends first
};

// None of its threads waits there: they wait here.
WorkerPool::WorkerPool(std::size_t thread_limit)
    : thread_limit_(thread_limit),
      host_(std::make_unique<wasm::GuestThreads>(0)),
      rescue_(Rescue::of_this_process()) {}

WorkerPool::~WorkerPool() {
  const MutexLock lock(mutex_);
  closing_ = true;
  for (Worker* worker : idle_) worker->wake.notify_one();
  ended_.wait(mutex_, [this]() REQUIRES(mutex_) { return threads_ == 0; });
}

void WorkerPool::post(std::function<void()> work, const std::string& owner) {
  Job job{carry_trace(std::move(work)), owner};
  const MutexLock lock(mutex_);
  if (!owner.empty()) {
    Line& line = lines_[owner];
    if (line.under_way >= three_quarters(thread_limit_)) {
      line.waiting.push_back(std::move(job.work));
      return;
    }
    ++line.under_way;
  }
  start(std::move(job));
}

void WorkerPool::start(Job job) {
  queue_.push_back(std::move(job));
  if (!idle_.empty()) {
    Worker& worker = *idle_.back();
    idle_.pop_back();
    worker.wanted = true;
    worker.wake.notify_one();
    return;
  }
  if (threads_ >= thread_limit_) return;
  ++threads_;
  if (host_->run([this] { serve(Idle::waits); })) return;
  if (threads_ == 1) return rescue_->run([this] { serve(Idle::leaves); });
  --threads_;  // one that is there does it when it has time
}

// The next of its line takes its place.
void WorkerPool::has_ended(const std::string& owner) {
  if (owner.empty()) return;
  const auto found = lines_.find(owner);
  Line& line = found->second;
  if (line.waiting.empty()) {
    if (--line.under_way == 0) lines_.erase(found);
    return;
  }
  queue_.push_back({std::move(line.waiting.front()), owner});
  line.waiting.pop_front();
}

void WorkerPool::do_here(std::function<void()> work, const std::string& owner) {
  {
    const Count counted(here_);
    if (counted.before < thread_limit_) {
      work();
      work = nullptr;
      return;
    }
  }
  post(std::move(work), owner);
}

std::size_t WorkerPool::threads() const {
  const MutexLock lock(mutex_);
  return threads_ + here_;
}

void WorkerPool::serve(Idle idle) {
  Worker self;
  ReleasableMutexLock lock(mutex_);
  for (;;) {
    if (queue_.empty()) {
      if (closing_ || idle == Idle::leaves || !wait_for_work(self)) break;
      continue;
    }
    Job job = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    job.work();
    job.work = nullptr;  // what it holds goes before the next wait
    lock.lock();
    has_ended(job.owner);
    // Another one goes on in its place.
    if (wasm::GuestThreads::is_lowered() && host_->run([this] { serve(Idle::waits); })) return;
  }
  --threads_;
  // Under the lock: the pool may be gone as soon as it is released.
  if (threads_ == 0) ended_.notify_all();
}

// False when there was none for a while.
bool WorkerPool::wait_for_work(Worker& self) {
  self.wanted = false;
  idle_.push_back(&self);
  self.wake.wait_for(mutex_, patience, [&]() REQUIRES(mutex_) { return closing_ || self.wanted; });
  if (self.wanted) return true;
  std::erase(idle_, &self);
  return closing_;
}

}  // namespace cloche::session
