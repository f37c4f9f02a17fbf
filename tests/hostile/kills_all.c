// SPDX-License-Identifier: Apache-2.0
// Kills whom it can: the sandbox's own processes, and nobody else.
// ends: exited 0
#include <signal.h>
#include <unistd.h>

int main(void) {
  kill(-1, SIGKILL);
  for (pid_t pid = 1; pid < 70000; ++pid) {
    if (pid != getpid()) kill(pid, SIGKILL);
  }
  return 0;
}
