// RunHere: executes on the calling thread what it would otherwise hand to a thread of GuestThreads
// and wait for: two switches between threads fewer.
//
//   wasm::RunHere::offer_this_thread();      // once, at the start of a thread with a guest's stack
//   ...
//   wasm::RunHere here;                      // from now on the next GuestThreads::run is caught
//   start_something();                       // calls GuestThreads::run
//   if (here.caught()) here.run();           // does the work, and returns when it is done
//
// It catches nothing on a thread that was not offered, nor within work that it runs: a guest wants
// a stack of its own. Not copied, not moved, used by one thread; what was caught must be run.
#pragma once

#include <functional>

namespace cloche::wasm {

class RunHere {
 public:
  // The calling thread has guest_thread_stack_bytes of stack, nearly unused, and blocks the signals
  // that a thread of GuestThreads does: it is one.
  static void offer_this_thread() noexcept;

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
