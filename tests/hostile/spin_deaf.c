// SPDX-License-Identifier: Apache-2.0
// Blocks and ignores what can be blocked and ignored, and computes for ever.
// limits: time=200
// ends: timed_out
#include <signal.h>

int main(void) {
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, 0);
  for (int signo = 1; signo < 65; ++signo) signal(signo, SIG_IGN);
  for (volatile unsigned turn = 0;; ++turn) {
  }
}
