#include "session/worker_pool.h"

#include <chrono>
#include <system_error>
#include <thread>

namespace cloche::session {
namespace {

constexpr std::chrono::seconds patience{5};

}  // namespace

WorkerPool::~WorkerPool() {
  std::unique_lock lock(mutex_);
  closing_ = true;
  wake_.notify_all();
  ended_.wait(lock, [this] { return threads_ == 0; });
}

void WorkerPool::post(std::function<void()> work) {
  std::unique_lock lock(mutex_);
  queue_.push_back(std::move(work));
  if (idle_ >= queue_.size()) {
    wake_.notify_one();
    return;
  }
  if (threads_ >= thread_limit_) return;
  ++threads_;
  try {
    std::thread([this] { serve(); }).detach();
  } catch (const std::system_error&) {
    --threads_;
    if (threads_ > 0) return;
    std::function<void()> own = std::move(queue_.back());
    queue_.pop_back();
    lock.unlock();
    own();
  }
}

std::size_t WorkerPool::threads() const {
  const std::lock_guard lock(mutex_);
  return threads_;
}

void WorkerPool::serve() {
  std::unique_lock lock(mutex_);
  for (;;) {
    if (queue_.empty()) {
      if (closing_) break;
      ++idle_;
      const bool wanted =
          wake_.wait_for(lock, patience, [this] { return closing_ || !queue_.empty(); });
      --idle_;
      if (!wanted) break;
      continue;
    }
    std::function<void()> work = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    work();
    work = nullptr;  // what it holds goes before the next wait
    lock.lock();
  }
  --threads_;
  // Under the lock: the pool may be gone as soon as it is released.
  if (threads_ == 0) ended_.notify_all();
}

}  // namespace cloche::session
