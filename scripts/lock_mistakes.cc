// SPDX-License-Identifier: Apache-2.0
// Mistakes that `scripts/tidy.py locks` must find, each in a line that ends with its mark; it finds
// nothing else here. Not part of any program.
#include "base/mutex.h"
#include "kernel/kernel.h"
#include "kernel/time/kernel_handle.h"
#include "kernel/time/kernel_lock.h"

namespace cloche::kernel {
namespace {

Pid parent_of(const Process& process) REQUIRES(kernel_lock) { return process.ppid; }

Pid without_lock(const Process& process) {
  return process.ppid;  // mistake
}

Pid calls_without_lock(const Process& process) {
  return parent_of(process);  // mistake
}

Pid with_lock(const Process& process) {
  const KernelLock lock(process.kernel().mutex());
  return parent_of(process);
}

void takes_it_twice(Kernel& kernel) {
  const KernelLock lock(kernel.mutex());
  kernel.kill_job(1);  // mistake
}

void lets_go_with_it_held(Kernel& kernel, ProcessPtr process) {
  KernelHandle handle(kernel.mutex(), std::move(process));
  const KernelLock lock(kernel.mutex());
  handle.reset();  // mistake
}

Pid gave_it_up(const Process& process) {
  ReleasableKernelLock lock(process.kernel().mutex());
  lock.unlock();
  return process.ppid;  // mistake
}

Pid gives_it_up_for_a_moment(const Process& process) REQUIRES(kernel_lock) {
  {
    const KernelUnlocked unlocked(process.kernel().mutex());
    (void)parent_of(process);  // mistake
  }
  return parent_of(process);
}

Pid in_a_function_of_its_own(const Process& process) REQUIRES(kernel_lock) {
  const auto parent = [&] {
    return process.ppid;  // mistake
  };
  return parent();
}

class Counter {
 public:
  void add() {
    const MutexLock lock(mutex_);
    ++count_;
  }
  int count() const {
    return count_;  // mistake
  }
  int while_given_up() REQUIRES(mutex_) {
    const MutexUnlocked unlocked(mutex_);
    return count_;  // mistake
  }
  void wait_for_one() EXCLUDES(mutex_) {
    changed_.wait(mutex_);  // mistake
  }

 private:
  mutable Mutex mutex_;
  Condition changed_;
  int count_ GUARDED_BY(mutex_) = 0;
};

class Unsaid {
  Mutex unsaid_;    // mistake
  std::mutex raw_;  // mistake
};

}  // namespace
}  // namespace cloche::kernel
