// SPDX-License-Identifier: Apache-2.0
#include "kernel/time/run_clock.h"

#include <algorithm>

#include "kernel/time/time_limit.h"

namespace cloche::kernel {
namespace {

// Nobody is told that a clock goes on: who has met its end while it stands still looks so often.
constexpr std::chrono::milliseconds standing_look{20};

}  // namespace

void SystemWaits::begin(SteadyTime now) {
  if (waiting_++ > 0) return;
  since_ = now;
  any_done_ = false;
}

void SystemWaits::end(SteadyTime now, End how) {
  any_done_ |= how == End::done;
  if (--waiting_ == 0 && any_done_) past_ += current(now);
}

std::chrono::nanoseconds SystemWaits::total(SteadyTime now) const {
  return waiting_ > 0 ? past_ + current(now) : past_;
}

std::chrono::nanoseconds SystemWaits::current(SteadyTime now) const {
  return std::min<std::chrono::nanoseconds>(now - since_, longest);
}

RunClock::RunClock(std::chrono::milliseconds limit, SteadyTime begin)
    : end_(deadline_after(begin, limit)) {}

bool RunClock::is_over(SteadyTime now) const { return end_ && now >= *end_ + waits_.total(now); }

Deadline RunClock::next_look(SteadyTime now) const {
  if (!end_) return std::nullopt;
  const SteadyTime end = *end_ + waits_.total(now);
  return waits_.under_way() ? std::max(end, now + standing_look) : end;
}

}  // namespace cloche::kernel
