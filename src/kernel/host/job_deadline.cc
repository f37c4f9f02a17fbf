// SPDX-License-Identifier: Apache-2.0
#include "kernel/host/job_deadline.h"

#include <atomic>
#include <new>

#include "base/host_error.h"
#include "kernel/kernel.h"
#include "kernel/process/signal.h"
#include "kernel/time/timer_thread.h"

namespace cloche::kernel {

struct JobDeadline::Watch : std::enable_shared_from_this<Watch> {
  Watch(Kernel& its_kernel, JobId its_job, std::shared_ptr<const RunClock> its_clock)
      : kernel(its_kernel), job(its_job), clock(std::move(its_clock)) {}

  // Throws as TimerThread::add does.
  void look_again() REQUIRES(kernel_lock) {
    timer = kernel.services().timers.add(*clock->next_look(), &kernel,
                                         [self = shared_from_this()] { self->look(); });
  }

  // Where the host has no memory to look again, the time is over.
  void look() EXCLUDES(kernel_lock) {
    {
      const KernelLock lock(kernel.mutex());
      if (ended) return;
      try {
        if (!clock->is_over()) return look_again();
      } catch (const std::bad_alloc&) {
      }
      passed = true;
    }
    kernel.signal_job(job, sigkill);
  }

  Kernel& kernel;
  const JobId job;
  const std::shared_ptr<const RunClock> clock;
  TimerThread::Id timer GUARDED_BY(kernel_lock) = 0;
  bool ended GUARDED_BY(kernel_lock) = false;
  std::atomic<bool> passed = false;
};

JobDeadline::JobDeadline(Kernel& kernel, JobId job, const std::shared_ptr<const RunClock>& clock) {
  if (!clock || !clock->is_limited()) return;
  try {
    watch_ = std::make_shared<Watch>(kernel, job, clock);
    const KernelLock lock(kernel.mutex());
    watch_->look_again();
    return;
  } catch (const HostError&) {
    refused_ = true;
  } catch (const std::bad_alloc&) {
    refused_ = true;
  }
  kernel.signal_job(job, sigkill);
}

JobDeadline::~JobDeadline() {
  if (!watch_) return;
  const KernelLock lock(watch_->kernel.mutex());
  watch_->ended = true;
  if (watch_->timer != 0) (void)watch_->kernel.services().timers.cancel(watch_->timer);
}

bool JobDeadline::passed() const noexcept { return watch_ && watch_->passed; }

}  // namespace cloche::kernel
