// SPDX-License-Identifier: Apache-2.0
#include "kernel/host/resident.h"

#include "kernel/host/job_deadline.h"
#include "kernel/kernel.h"
#include "wasm/run_here.h"

namespace cloche::kernel {

Result<bool> Resident::run_turn(Process& process) {
  wasm::RunHere here;
  CLOCHE_TRY(process.kernel().resume(process, &here));
  if (!here.caught()) return wait_for_answer(process);
  hosted = true;
  const JobId job = process.job;
  const std::shared_ptr<const RunClock> clock = process.clock;
  bool in_time = true;
  {
    const KernelUnlocked unlocked(process.kernel().mutex());
    const JobDeadline limit(process.kernel(), job, clock);
    here.run();
    in_time = !limit.passed();
  }
  hosted = false;
  return in_time;
}

bool Resident::wait_for_answer(Process& process) {
  const std::shared_ptr<const RunClock> clock = process.clock;
  Waiter waiter;
  WaitQueue* const queues[] = {&answer, &process.ended};
  while (!answered && !is_gone(process)) {
    if (clock && clock->is_over()) return false;
    (void)waiter.sleep(process.kernel().mutex(), queues, clock ? clock->next_look() : std::nullopt);
  }
  return true;
}

wasm::Outcome Resident::ended(Task& task, const wasm::Outcome& outcome) {
  const KernelLock lock(task.kernel().mutex());
  gone = true;
  replaced = task.replacing();
  answer.wake_all();
  return outcome;
}

}  // namespace cloche::kernel
