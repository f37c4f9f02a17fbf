// SPDX-License-Identifier: Apache-2.0
// Processes that stop and wake each other, also those that have been stopped to be killed, and that
// are started anew all the time.
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

int main(void) {
  for (int number = 1; number < 65; ++number) signal(number, SIG_IGN);
  signal(SIGCHLD, SIG_IGN);
  for (int i = 0; i < 24; ++i) {
    if (fork() != 0) continue;
    if (i % 2) setsid();
    for (;;) {
      kill(-1, SIGCONT);
      if (i % 3 == 0) kill(getpid(), SIGSTOP);
      if (fork() == 0) {
        kill(getppid(), SIGSTOP);
        kill(-1, SIGCONT);
        _exit(0);
      }
      kill(-1, i % 3 == 1 ? SIGTSTP : SIGSTOP);
    }
  }
  for (;;) kill(-1, SIGCONT);
}
