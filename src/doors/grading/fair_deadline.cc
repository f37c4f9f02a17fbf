// SPDX-License-Identifier: Apache-2.0
#include "doors/grading/fair_deadline.h"

#include <algorithm>

namespace cloche::grading {
namespace {

using namespace std::chrono_literals;

// So many times its limit a run may take on a machine that is busy with other things.
constexpr int patience = 20;
constexpr std::chrono::nanoseconds look_again_min = 5ms;

}  // namespace

FairDeadline::FairDeadline(session::Timers& timers, const Sandbox& sandbox,
                           std::chrono::milliseconds limit)
    : timers_(timers), sandbox_(sandbox), limit_(limit) {
  look_at(begin_ + limit);
}

FairDeadline::~FairDeadline() {
  session::Timers::Id last;
  {
    const MutexLock lock(mutex_);
    ended_ = true;
    last = timer_;
  }
  timers_.cancel(last);
}

void FairDeadline::look_at(Clock::time_point when) {
  const MutexLock lock(mutex_);
  if (!ended_) timer_ = timers_.at(when, [this] { look(); });
}

void FairDeadline::look() {
  const SandboxUsage usage = sandbox_.usage();
  const Clock::time_point now = Clock::now();
  const std::chrono::nanoseconds passed = now - begin_ - usage.compile_wait;
  if (passed < limit_) return look_at(now + std::max(limit_ - passed, look_again_min));
  const auto processes = sandbox_.processes();
  const bool computes =
      std::ranges::any_of(processes, [](const ProcessInfo& one) { return one.state == 'R'; });
  const std::chrono::nanoseconds had = usage.cpu;
  if (computes && had < limit_) {
    if (passed < limit_ * patience) return look_at(now + std::max(limit_ - had, look_again_min));
    verdict_ = Verdict::starved;
  } else {
    verdict_ = Verdict::over;
  }
  stop_.request_stop();
}

}  // namespace cloche::grading
