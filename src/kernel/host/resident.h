// SPDX-License-Identifier: Apache-2.0
// Resident: a program of the host's that stays, between two turns without a thread (Startup::run
// that comes to rest), and its host: what the two sides say to each other about a turn.
//
// Members are guarded by the kernel lock, which is held by all calls but serve().
#pragma once

#include <mutex>
#include <optional>

#include "kernel/process/task.h"

namespace cloche::kernel {

class Resident {
 public:
  bool answered = false;  // the turn that was asked for has been taken
  bool hosted = false;    // a turn is taken on the thread of who asked for it
  bool gone = false;      // it takes no more turns
  bool replaced = false;  // by an exec
  WaitQueue answer;       // the host sleeps here

  // For Startup::run, on the task's thread, without the lock: `begin()` once, whose outcome ends
  // the program unless it returned, and then `take_requests()`, a StartupEnd.
  template <typename Begin, typename TakeRequests>
  StartupEnd serve(Task& task, Begin&& begin, TakeRequests&& take_requests) {
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
  bool is_gone(const Process& process) const { return gone || process.status.has_value(); }

  // Lets the process take the turn that it was asked for, on this thread where it is parked, and
  // waits for it. False when the deadline passed: where the turn was taken here the process's job
  // was killed for it. EAGAIN when the host gives no thread.
  Result<bool> run_turn(Process& process, std::unique_lock<std::mutex>& lock, Deadline deadline);
  // Waits until the turn is taken or the process is gone; false when the deadline passed.
  bool wait_for_answer(Process& process, Deadline deadline);

 private:
  // Takes the lock.
  wasm::Outcome ended(Task& task, const wasm::Outcome& outcome);

  bool begun_ = false;
};

}  // namespace cloche::kernel
