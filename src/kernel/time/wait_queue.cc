// SPDX-License-Identifier: Apache-2.0
#include "kernel/time/wait_queue.h"

#include <algorithm>

namespace cloche::kernel {

bool Waiter::sleep(KernelMutex& mutex, std::span<WaitQueue* const> queues, Deadline deadline) {
  for (WaitQueue* queue : queues) queue->waiters_.push_back(this);
  std::unique_lock lock(mutex.mutex_, std::adopt_lock);
  // A deadline that has passed gives the lock up too: whoever has to end this sleeper needs it.
  while (!woken_) {
    clock_.sleep(condition_, lock, deadline.value_or(SteadyTime::max()));
    if (deadline && *deadline <= clock_.steady()) break;
  }
  const bool woken = woken_;
  woken_ = false;
  lock.release();
  for (WaitQueue* queue : queues) std::erase(queue->waiters_, this);
  return woken;
}

void Waiter::wake() noexcept {
  // A waiter that was woken already is on its way: one system call for any number of wakes.
  if (woken_) return;
  woken_ = true;
  condition_.notify_one();
}

void WaitQueue::wake_all() noexcept {
  ++wakes_;
  for (Waiter* waiter : waiters_) waiter->wake();
}

}  // namespace cloche::kernel
