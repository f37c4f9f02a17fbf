// SPDX-License-Identifier: Apache-2.0
// Each handler of a signal raises that signal again.
// limits: time=200
// ends: timed_out
#include <signal.h>

static void again(int signo) { raise(signo); }

int main(void) {
  signal(SIGUSR1, again);
  for (;;) raise(SIGUSR1);
}
