// SPDX-License-Identifier: Apache-2.0
// Loops: the event loops of a server. One thread at a time drives a loop, and a handler of a loop
// may wait all the same, within a Turn.
//
// A turn that ends within some milliseconds costs nothing: no thread is woken for it, and none is
// for its answer. One that takes longer loses the loop: a watchman gives it to another thread,
// which goes on with the loop's other connections, and the thread of the turn leaves when its
// handler returns. So there are as many threads as loops, and one for each turn that takes long.
//
// Thread-safe, but for what says otherwise.
#pragma once

#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "base/thread_group.h"

namespace cloche::http {

class Loops;

class Loop {
 public:
  explicit Loop(Loops& loops) : loops_(loops) {}
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  boost::asio::io_context& context() noexcept { return context_; }

  // A part of a handler that may wait. Made and finished by the thread that drives the loop; not
  // within another one.
  class Turn {
   public:
    explicit Turn(Loop& loop);
    ~Turn() { (void)finish(); }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

    // True when this thread has the loop still: nothing else has happened on it. When it is false
    // the handler touches nothing that belongs to the loop any more. The second call says the same.
    bool finish();

   private:
    Loop& loop_;
    const std::uint64_t number_;
    bool finished_ = false;
    bool kept_ = false;
  };

 private:
  friend class Loops;
  void drive();

  Loops& loops_;
  boost::asio::io_context context_;
  // A connection whose answer is being made has no operation: the thread stays for it.
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> guard_{
      context_.get_executor()};
  std::atomic<std::uint64_t> turn_ = 0;  // odd: in a turn, of that number
  std::uint64_t seen_ = 0;               // the watchman's: turn_ at the last look
};

class Loops {
 public:
  explicit Loops(std::size_t count);
  ~Loops();  // stop()
  Loops(const Loops&) = delete;
  Loops& operator=(const Loops&) = delete;

  Loop& operator[](std::size_t index) noexcept { return loops_[index]; }
  std::size_t size() const noexcept { return loops_.size(); }

  void start();  // throws std::system_error where the host has no threads
  // Ends the loops, and waits for their handlers.
  void stop();

  std::size_t threads() const;

 private:
  friend class Loop;
  void add_thread() REQUIRES(mutex_);
  void hand_over(Loop& loop, std::uint64_t turn) REQUIRES(mutex_);
  void serve();
  void wake_watchman();
  void watch();
  bool look() REQUIRES(mutex_);

  std::deque<Loop> loops_;
  mutable Mutex mutex_;
  Condition spare_changed_;  // for threads that wait for a loop
  Condition watch_changed_;
  std::deque<Loop*> waiting_ GUARDED_BY(mutex_);  // for a driver
  std::size_t spare_ GUARDED_BY(mutex_) = 0;      // threads that wait for a loop
  std::size_t threads_ GUARDED_BY(mutex_) = 0;
  bool stopping_ GUARDED_BY(mutex_) = false;
  std::atomic<bool> awake_ = false;  // the watchman looks
  std::thread watchman_;
  ThreadGroup group_;
};

}  // namespace cloche::http
