// SPDX-License-Identifier: Apache-2.0
// Threads that have nothing of their own but what the kernel keeps for each.
#include <sched.h>

#include "attack.h"

enum { most = 6000, seconds = 30 };

// All on the same stack, which each of them leaves as it is.
static int wait_for_ever(void* unused) {
  (void)unused;
  for (;;) syscall(SYS_ppoll, 0, 0, 0, 0);
  return 0;
}

static void hoard(void) {
  static char stack[65536] __attribute__((aligned(16)));
  const int shares =
      CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM;
  for (int i = 0; i < most; ++i) {
    if (clone(wait_for_ever, stack + sizeof stack, shares, 0) < 0) return;  // it keeps what it has
  }
}

int main(void) {
  expect_end_of_hoard("threads", hoard, seconds);
  return verdict();
}
