// SPDX-License-Identifier: Apache-2.0
// Pid 1 does not hear what comes from inside.
#include <signal.h>

#include "attack.h"

int main(void) {
  for (int number = 1; number < 65; ++number) kill(1, number);
  sigqueue(1, SIGKILL, (union sigval){0});
  syscall(SYS_tgkill, 1, 1, SIGKILL);
  int pidfd = (int)syscall(434, 1, 0);
  syscall(424, pidfd, SIGKILL, 0, 0);
  puts("held");
  return 0;
}
