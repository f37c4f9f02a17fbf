// SPDX-License-Identifier: Apache-2.0
// Makes timers and deletes none.
// ends: exited 0
#include <errno.h>
#include <signal.h>
#include <time.h>

int main(void) {
  struct sigevent event = {0};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = SIGRTMIN;
  for (int count = 0; count < 1000000; ++count) {
    timer_t timer;
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0) return errno == EAGAIN ? 0 : 2;
  }
  return 3;
}
