// SPDX-License-Identifier: Apache-2.0
// Stops, and nobody continues it.
// limits: time=200
// ends: timed_out
#include <signal.h>

int main(void) {
  for (;;) raise(SIGSTOP);
}
