// SPDX-License-Identifier: Apache-2.0
// Gate: so many jobs at once, and a queue of others, in order. A job that would wait for ever is
// refused instead. Thread-safe; what it is given outlives it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>

#include "base/mutex.h"
#include "session/worker_pool.h"

namespace cloche::grading {

class Gate {
 public:
  struct Limits {
    std::size_t running = 1;
    std::size_t waiting = 8192;
    std::uint64_t waiting_bytes = 256ULL << 20;
    // A job whose turn comes later than that is refused: its client does not wait any more.
    std::chrono::milliseconds patience{15'000};
  };
  enum class Patience : std::uint8_t { limited, endless };
  struct Job {
    std::function<void()> work;
    std::function<void()> refused;  // instead of `work`
    std::uint64_t bytes = 0;        // that it holds while it waits
    Patience patience = Patience::limited;
  };

  Gate(session::WorkerPool& workers, const Limits& limits) : workers_(workers), limits_(limits) {}
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  // Does it here where its turn has come, or on a thread of the pool, or refuses it. One of endless
  // patience is not refused for want of room: who posts it bounds how many there are.
  void enter(Job job);
  std::size_t running() const;
  std::size_t waiting() const;
  // Refuses what waits, and what comes.
  void close();

 private:
  using Clock = std::chrono::steady_clock;
  struct Waiting {
    Job job;
    Clock::time_point since;
  };
  // A place is free for the next one.
  void pass_on();

  session::WorkerPool& workers_;
  const Limits limits_;
  mutable Mutex mutex_;
  std::deque<Waiting> queue_ GUARDED_BY(mutex_);
  std::uint64_t queued_bytes_ GUARDED_BY(mutex_) = 0;
  std::size_t running_ GUARDED_BY(mutex_) = 0;
  bool closed_ GUARDED_BY(mutex_) = false;
};

}  // namespace cloche::grading
