// SPDX-License-Identifier: Apache-2.0
// FairDeadline: the time limit of a run whose outcome is a verdict. Time is the wall clock's; but a
// program that computes, and that a busy machine did not let compute as long as that, gets what it
// is short of. So load makes a run slow, and never wrong. Waiting for programs of the system's to
// be compiled is no time of its own.
//
// Made before the run, and gone after it.
#pragma once

#include <atomic>
#include <chrono>
#include <stop_token>

#include "base/mutex.h"
#include "cloche/sandbox.h"
#include "session/timers.h"

namespace cloche::grading {

class FairDeadline {
 public:
  enum class Verdict : std::uint8_t {
    within,
    over,     // it was stopped: it had its time
    starved,  // it was stopped, and had not its time: the machine is too busy to say anything
  };

  // `sandbox` runs nothing else, and has run nothing before.
  FairDeadline(session::Timers& timers, const Sandbox& sandbox, std::chrono::milliseconds limit);
  ~FairDeadline();
  FairDeadline(const FairDeadline&) = delete;
  FairDeadline& operator=(const FairDeadline&) = delete;

  // Ends the run.
  std::stop_source& stop() noexcept { return stop_; }
  Verdict verdict() const noexcept { return verdict_; }

 private:
  using Clock = std::chrono::steady_clock;
  void look();
  void look_at(Clock::time_point when);

  session::Timers& timers_;
  const Sandbox& sandbox_;
  const std::chrono::nanoseconds limit_;
  const Clock::time_point begin_ = Clock::now();
  std::stop_source stop_;
  std::atomic<Verdict> verdict_ = Verdict::within;

  Mutex mutex_;
  bool ended_ GUARDED_BY(mutex_) = false;
  session::Timers::Id timer_ GUARDED_BY(mutex_);
};

}  // namespace cloche::grading
