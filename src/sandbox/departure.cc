// SPDX-License-Identifier: Apache-2.0
#include "sandbox/departure.h"

#include <csignal>
#include <utility>

#include "sandbox/exit_codes.h"

namespace cloche::sandbox {

void Departure::begin() {
  std::stop_source begins = [this] {
    const MutexLock lock(mutex_);
    if (phase_ != Phase::left) phase_ = Phase::leaving;
    leaver_ = std::this_thread::get_id();
    return begins_;
  }();
  begins.request_stop();  // without the lock: it calls what ends them
}

void Departure::at_files() {
  const MutexLock lock(mutex_);
  if (phase_ == Phase::leaving && leaver_ == std::this_thread::get_id()) phase_ = Phase::in_doubt;
}

void Departure::stay() {
  const MutexLock lock(mutex_);
  if (phase_ == Phase::left) return;
  phase_ = Phase::here;
  begins_ = std::stop_source();
  changed_.notify_all();
}

void Departure::leave() {
  std::stop_source begins = [this] {
    const MutexLock lock(mutex_);
    phase_ = Phase::left;
    changed_.notify_all();
    return begins_;
  }();
  begins.request_stop();
  leaves_.request_stop();
}

std::stop_token Departure::begins() const {
  const MutexLock lock(mutex_);
  return begins_.get_token();
}

bool Departure::counts() {
  const MutexLock lock(mutex_);
  changed_.wait(mutex_, [this]() REQUIRES(mutex_) { return phase_ != Phase::in_doubt; });
  return phase_ != Phase::left;
}

RunResult Departure::settled(RunResult result) {
  if (result.status != RunStatus::exited || counts()) return result;
  return cancelled_run(std::move(result));
}

ExecuteResult Departure::settled(ExecuteResult result) {
  const bool has_ended = result.status == ExecuteStatus::ok ||
                         result.status == ExecuteStatus::error ||
                         result.status == ExecuteStatus::exited;
  if (!has_ended || counts()) return result;
  result.status = ExecuteStatus::cancelled;
  result.reason = "the execution was cancelled";
  return result;
}

RunResult cancelled_run(RunResult result) {
  result.status = RunStatus::killed;
  result.exit_code = status_killed;
  result.signal = SIGKILL;
  result.reason = "the command was cancelled";
  return result;
}

}  // namespace cloche::sandbox
