// SPDX-License-Identifier: Apache-2.0
// Waits for a signal that nobody sends.
// limits: time=200
// ends: timed_out
#include <unistd.h>

int main(void) {
  for (;;) pause();
}
