// SPDX-License-Identifier: Apache-2.0
// Resident: a program of the host's that stays, between two turns without a thread (Startup::run
// that comes to rest), and its host: what the two sides say to each other about a turn.
#pragma once

#include <optional>

#include "kernel/process/task.h"
#include "kernel/time/kernel_lock.h"

namespace cloche::kernel {

class Resident {
 public:
  bool answered GUARDED_BY(kernel_lock) = false;  // the turn that was asked for has been taken
  bool hosted GUARDED_BY(kernel_lock) = false;  // a turn is taken on the thread of who asked for it
  bool gone GUARDED_BY(kernel_lock) = false;    // it takes no more turns
  bool replaced GUARDED_BY(kernel_lock) = false;  // by an exec
  WaitQueue answer;                               // the host sleeps here

  // For Startup::run, on the task's thread, without the lock: `begin()` once, whose outcome ends
  // the program unless it returned, and then `take_requests()`, a StartupEnd.
  template <typename Begin, typename TakeRequests>
  StartupEnd serve(Task& task, Begin&& begin, TakeRequests&& take_requests) EXCLUDES(kernel_lock) {
    if (!begun_) {
      const wasm::Outcome begun = begin();
      if (!begun.returned()) return ended(task, begun);
      begun_ = true;
    }
    StartupEnd end = take_requests();
    if (const wasm::Outcome* outcome = std::get_if<wasm::Outcome>(&end))
      return ended(task, *outcome);
    return end;
  }

  // Killed before it could say so, too.
  bool is_gone(const Process& process) const REQUIRES(kernel_lock) {
    return gone || process.status.has_value();
  }

  // Lets the process take the turn that it was asked for, on this thread where it is parked, and
  // waits for it. False when the process's clock was over: where the turn was taken here the
  // process's job was killed for it. EAGAIN when the host gives no thread.
  Result<bool> run_turn(Process& process) REQUIRES(kernel_lock);
  // Waits until the turn is taken or the process is gone; false when the clock was over.
  bool wait_for_answer(Process& process) REQUIRES(kernel_lock);

 private:
  wasm::Outcome ended(Task& task, const wasm::Outcome& outcome) EXCLUDES(kernel_lock);

  bool begun_ = false;
};

}  // namespace cloche::kernel
