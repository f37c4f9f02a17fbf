// SPDX-License-Identifier: Apache-2.0
// Fills as many pipes as it may have.
// limits: descriptors=64 memory=128M
// ends: exited 0
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

int main(void) {
  static char block[65536];
  for (;;) {
    int ends[2];
    if (pipe2(ends, O_NONBLOCK) != 0) return errno == EMFILE || errno == ENFILE ? 0 : 2;
    while (write(ends[1], block, sizeof block) > 0) {
    }
    if (errno != EAGAIN) return 3;
  }
}
