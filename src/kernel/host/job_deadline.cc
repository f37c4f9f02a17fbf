// SPDX-License-Identifier: Apache-2.0
#include "kernel/host/job_deadline.h"

#include "base/host_error.h"
#include "kernel/kernel.h"
#include "kernel/process/signal.h"

namespace cloche::kernel {

JobDeadline::JobDeadline(Kernel& kernel, JobId job, Deadline deadline) : kernel_(kernel) {
  if (!deadline) return;
  const auto end_job = [&kernel, job, passed = passed_] {
    *passed = true;
    kernel.signal_job(job, sigkill);
  };
  try {
    timer_ = kernel.services().timers.add(*deadline, &kernel, end_job);
  } catch (const HostError&) {
    refused_ = true;
    kernel.signal_job(job, sigkill);
  }
}

JobDeadline::~JobDeadline() {
  if (timer_ != 0) (void)kernel_.services().timers.cancel(timer_);
}

}  // namespace cloche::kernel
