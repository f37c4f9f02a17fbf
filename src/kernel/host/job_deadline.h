// SPDX-License-Identifier: Apache-2.0
// JobDeadline: kills a job when the clock of its run is over, for a thread that executes the job's
// process by itself (wasm::RunHere) and so cannot look at it.
#pragma once

#include <memory>

#include "kernel/process/process.h"
#include "kernel/time/kernel_lock.h"
#include "kernel/time/run_clock.h"

namespace cloche::kernel {

class Kernel;

class JobDeadline {
 public:
  // Without a limit it does nothing; a null clock has none.
  JobDeadline(Kernel& kernel, JobId job, const std::shared_ptr<const RunClock>& clock)
      EXCLUDES(kernel_lock);
  // Kills nothing from now on.
  ~JobDeadline() EXCLUDES(kernel_lock);
  JobDeadline(const JobDeadline&) = delete;
  JobDeadline& operator=(const JobDeadline&) = delete;

  // The job was killed, or is being killed, because its time is over.
  bool passed() const noexcept;
  // The host has no thread or memory to watch the time: the job was killed at once.
  bool refused() const noexcept { return refused_; }

 private:
  struct Watch;
  std::shared_ptr<Watch> watch_;
  bool refused_ = false;
};

}  // namespace cloche::kernel
