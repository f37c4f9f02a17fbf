// SPDX-License-Identifier: Apache-2.0
#include "kernel/process/turns.h"

#include <thread>

#include "kernel/kernel.h"
#include "kernel/process/task.h"

namespace cloche::kernel {

bool Turns::go_on() {
  using namespace std::chrono_literals;
  constexpr auto turn = 2ms;
  if (std::chrono::steady_clock::now() - begin_ < turn) return true;
  // Whoever waits for the lock has to wake up before taking it.
  constexpr auto pause = 50us;
  {
    const KernelUnlocked unlocked(task_.kernel().mutex());
    std::this_thread::sleep_for(pause);
  }
  begin_ = std::chrono::steady_clock::now();
  return !task_.owner().signals.deliverable().has(sigkill);
}

}  // namespace cloche::kernel
