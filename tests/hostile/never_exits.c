// SPDX-License-Identifier: Apache-2.0
// Its exit handler does not return.
// limits: time=200
// ends: timed_out
#include <stdlib.h>

static void stay(void) {
  for (volatile unsigned turn = 0;; ++turn) {
  }
}

int main(void) {
  atexit(stay);
  return 0;
}
