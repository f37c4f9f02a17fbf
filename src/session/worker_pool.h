// SPDX-License-Identifier: Apache-2.0
// WorkerPool: threads for calls that wait, such as a command in a sandbox. It grows when all are
// busy, up to a limit, and a thread that had nothing to do for some seconds ends. Work beyond the
// limit queues, and so does an owner's beyond three quarters of it: until work of that owner's
// ends. One thread that all pools of a process have in common waits for when the host gives
// no more.
//
// Its threads have a guest's stack: a command that such work runs in a sandbox is executed on the
// thread itself (wasm::RunHere). One whose priority such a command has lowered is replaced.
//
// Thread-safe. The destructor waits for all work, queued work too.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/mutex.h"

namespace cloche::wasm {
class GuestThreads;
}

namespace cloche::session {

class WorkerPool {
 public:
  // Throws HostError where the host gives no thread for the first one of the process.
  explicit WorkerPool(std::size_t thread_limit);
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  // `work` must not throw, and is done for what this thread is doing (base/trace_context.h). Where
  // the host gives no thread it waits for one of the pool's own, or for the last one of all. Never
  // on this thread: whoever posts may hold what the work wants. Work that waits for something of a
  // client's or a guest's says whose it is; that of nobody is not counted, so that it always comes
  // to its turn.
  void post(std::function<void()> work, const std::string& owner = {});

  // Does `work` on the calling thread, where that may wait; but where as much is being done as the
  // pool may have threads, it is posted.
  void do_here(std::function<void()> work, const std::string& owner = {});

  // That run something or wait for work, callers of do_here included.
  std::size_t threads() const;

 private:
  class Rescue;
  enum class Idle : std::uint8_t { waits, leaves };
  struct Worker {
    Condition wake;
    bool wanted = false;
  };
  struct Job {
    std::function<void()> work;
    std::string owner;
  };
  // Of an owner that has some.
  struct Line {
    std::size_t under_way = 0;  // at work or in the queue
    std::deque<std::function<void()>> waiting;
  };
  void start(Job job) REQUIRES(mutex_);
  void has_ended(const std::string& owner) REQUIRES(mutex_);
  void serve(Idle idle);
  bool wait_for_work(Worker& self) REQUIRES(mutex_);

  const std::size_t thread_limit_;
  mutable Mutex mutex_;
  Condition ended_;
  std::deque<Job> queue_ GUARDED_BY(mutex_);
  std::unordered_map<std::string, Line> lines_ GUARDED_BY(mutex_);
  std::size_t threads_ GUARDED_BY(mutex_) = 0;
  std::atomic<std::size_t> here_ = 0;             // in do_here
  std::vector<Worker*> idle_ GUARDED_BY(mutex_);  // the latest last: its stack and caches are warm
  bool closing_ GUARDED_BY(mutex_) = false;
  std::unique_ptr<wasm::GuestThreads> host_;
  const std::shared_ptr<Rescue> rescue_;
};

}  // namespace cloche::session
