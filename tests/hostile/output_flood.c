// SPDX-License-Identifier: Apache-2.0
// Writes as much as it can, as long as it may.
// limits: time=300
// ends: timed_out
#include <unistd.h>

int main(void) {
  static char block[65536];
  for (;;) (void)!write(1, block, sizeof block);
}
