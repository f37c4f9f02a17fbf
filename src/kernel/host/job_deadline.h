// SPDX-License-Identifier: Apache-2.0
// JobDeadline: kills a job at a moment, for a thread that executes the job's process by itself
// (wasm::RunHere) and so cannot wait for it with a deadline.
#pragma once

#include <atomic>
#include <memory>

#include "kernel/process/process.h"
#include "kernel/time/timer_thread.h"

namespace cloche::kernel {

class Kernel;

class JobDeadline {
 public:
  // Without a deadline it does nothing. Kernel lock not held.
  JobDeadline(Kernel& kernel, JobId job, Deadline deadline);
  // Kills nothing from now on.
  ~JobDeadline();
  JobDeadline(const JobDeadline&) = delete;
  JobDeadline& operator=(const JobDeadline&) = delete;

  // The job was killed, or is being killed, because its time is over.
  bool passed() const noexcept { return passed_ && *passed_; }
  // The host has no thread or memory to watch the time: the job was killed at once.
  bool refused() const noexcept { return refused_; }

 private:
  Kernel& kernel_;
  std::shared_ptr<std::atomic<bool>> passed_;
  TimerThread::Id timer_ = 0;
  bool refused_ = false;
};

}  // namespace cloche::kernel
