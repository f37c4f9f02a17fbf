// WorkerPool: threads for calls that wait, such as a command in a sandbox. It grows when all are
// busy, up to a limit, and a thread that had nothing to do for some seconds ends: an idle server
// has none. Work beyond the limit queues.
//
// Thread-safe. The destructor waits for all work, queued work too.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>

namespace cloche::session {

class WorkerPool {
 public:
  explicit WorkerPool(std::size_t thread_limit) : thread_limit_(thread_limit) {}
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  // `work` must not throw. Where the host gives no thread it waits for one of those that there are;
  // with none at all it is done here.
  void post(std::function<void()> work);

  std::size_t threads() const;

 private:
  void serve();

  const std::size_t thread_limit_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable ended_;
  std::deque<std::function<void()>> queue_;
  std::size_t threads_ = 0;
  std::size_t idle_ = 0;
  bool closing_ = false;
};

}  // namespace cloche::session
