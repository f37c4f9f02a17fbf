// SPDX-License-Identifier: Apache-2.0
// RunHere: who asks for work of guests offers the own thread for it, in place of a thread of
// GuestThreads that it would wait for: two switches between threads fewer.
//
//   wasm::RunHere here;
//   start_something(&here);                  // calls GuestThreads::run(work, &here)
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

  // For GuestThreads: true where `work` is taken, which only one ever is.
  bool take(std::function<void()>& work) noexcept;

 private:
  bool is_free_;
  std::function<void()> work_;
};

}  // namespace cloche::wasm
