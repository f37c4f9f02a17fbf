// SPDX-License-Identifier: Apache-2.0
// Gate: so many jobs at once, and queues of others, each owner's in order. A job that would wait
// for ever is refused instead.
//
// No owner keeps others out: a place goes to one that has the fewest jobs in progress; where all
// are taken there are as many again, for owners that have none; and of the room for those that wait
// one has three quarters. Thread-safe; what it is given outlives it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "base/mutex.h"
#include "session/timers.h"
#include "session/worker_pool.h"

namespace cloche::grading {

class Gate {
 public:
  struct Limits {
    std::size_t running = 1;  // and as many again, one for each owner that has no other
    std::size_t waiting = 8192;
    std::uint64_t waiting_bytes = 256ULL << 20;
    // A job whose turn does not come before that is refused: its client does not wait any more.
    std::chrono::milliseconds patience{15'000};
  };
  enum class Patience : std::uint8_t { limited, endless };
  struct Job {
    std::string owner;
    std::function<void()> work;
    std::function<void()> refused;  // instead of `work`
    std::uint64_t bytes = 0;        // that it holds while it waits
    Patience patience = Patience::limited;
  };

  Gate(session::WorkerPool& workers, const Limits& limits) : workers_(workers), limits_(limits) {}
  // Closes it, and waits for the jobs that are in progress. Not from one of them.
  ~Gate();
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  // Does it here where its turn has come, or on a thread of the pool, or refuses it. One of endless
  // patience is never done here, for who posts it has more to post, and not refused for want of
  // room: who posts it bounds how many there are.
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
  // Of an owner that has a job in progress or one that waits.
  struct Line {
    std::size_t running = 0;
    std::deque<Waiting> queue;
    std::uint64_t bytes = 0;  // of those of limited patience in it
  };
  bool has_room(const Job& job, const Line& line) const REQUIRES(mutex_);
  void leaves_queue(Line& line, const Job& job) REQUIRES(mutex_);
  bool has_place(const Line& line) const REQUIRES(mutex_);
  // One that throws has ended.
  void do_job(Job job);
  // The owner's job has ended: a place is free.
  void pass_on(const std::string& owner);
  std::optional<Job> take_next() REQUIRES(mutex_);
  void start(Job job);
  // Refuses what has waited too long, now and whenever it has.
  void look_for_late_ones();
  void watch() REQUIRES(mutex_);

  session::WorkerPool& workers_;
  const Limits limits_;
  mutable Mutex mutex_;
  std::map<std::string, Line> lines_ GUARDED_BY(mutex_);
  std::size_t waiting_ GUARDED_BY(mutex_) = 0;
  std::uint64_t queued_bytes_ GUARDED_BY(mutex_) = 0;
  std::size_t running_ GUARDED_BY(mutex_) = 0;
  // Those and what they do here when they have ended.
  std::size_t inside_ GUARDED_BY(mutex_) = 0;
  Condition left_;
  bool watching_ GUARDED_BY(mutex_) = false;
  bool closed_ GUARDED_BY(mutex_) = false;
  session::Timers timers_;  // the last: what it does is about the others
};

}  // namespace cloche::grading
