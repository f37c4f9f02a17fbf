// SPDX-License-Identifier: Apache-2.0
#include "kernel/host/job_deadline.h"

#include <new>

#include "base/host_error.h"
#include "kernel/kernel.h"
#include "kernel/process/signal.h"

namespace cloche::kernel {

JobDeadline::JobDeadline(Kernel& kernel, JobId job, Deadline deadline) : kernel_(kernel) {
  if (!deadline) return;
  try {
    passed_ = std::make_shared<std::atomic<bool>>(false);
    timer_ = kernel.services().timers.add(*deadline, &kernel, [&kernel, job, passed = passed_] {
      *passed = true;
      kernel.signal_job(job, sigkill);
    });
    return;
  } catch (const HostError&) {
    refused_ = true;
  } catch (const std::bad_alloc&) {
    refused_ = true;
  }
  kernel.signal_job(job, sigkill);
}

JobDeadline::~JobDeadline() {
  if (timer_ != 0) (void)kernel_.services().timers.cancel(timer_);
}

}  // namespace cloche::kernel
