// SPDX-License-Identifier: Apache-2.0
// Queues real-time signals that it never takes.
// ends: exited 0
#include <errno.h>
#include <signal.h>
#include <unistd.h>

int main(void) {
  sigset_t blocked;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGRTMIN);
  sigprocmask(SIG_BLOCK, &blocked, 0);
  const union sigval value = {.sival_int = 1};
  for (int count = 0; count < 10000000; ++count) {
    if (sigqueue(getpid(), SIGRTMIN, value) != 0) return errno == EAGAIN ? 0 : 2;
  }
  return 3;
}
