// SPDX-License-Identifier: Apache-2.0
// RunHere: executes on the calling thread what it would otherwise hand to a thread of GuestThreads
// and wait for: two switches between threads fewer.
//
//   wasm::RunHere here;                      // from now on the next GuestThreads::run is caught
//   start_something();                       // calls GuestThreads::run
//   if (here.caught()) here.run();           // does the work, and returns when it is done
//
// The work gets a guest's stack (guest_stack.h). Nothing is caught within work that is run like
// this, nor where the host has no stack to give: whoever uses it sees to both outcomes. Not copied,
// not moved, used by one thread; what was caught must be run.
#pragma once

#include <functional>

namespace cloche::wasm {

class RunHere {
 public:
  RunHere() noexcept;
  ~RunHere();
  RunHere(const RunHere&) = delete;
  RunHere& operator=(const RunHere&) = delete;

  bool caught() const noexcept { return static_cast<bool>(work_); }
  void run();

  // For GuestThreads: true when somebody on this thread waits for `work`, which is taken then.
  static bool take(std::function<void()>& work) noexcept;

 private:
  bool armed_ = false;
  std::function<void()> work_;
};

}  // namespace cloche::wasm
