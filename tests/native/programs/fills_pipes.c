// SPDX-License-Identifier: Apache-2.0
// Pipes as many and as large as there may be, all full: beyond some tens of megabytes of a user each
// has a page or two.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "attack.h"

static char bytes[1 << 20];

static long fill(void) {
  long filled = 0;
  int ends[2];
  for (int pipes = 0; pipes < 500 && pipe2(ends, O_NONBLOCK) == 0; ++pipes) {
    fcntl(ends[1], F_SETPIPE_SZ, sizeof bytes);
    for (long done; (done = write(ends[1], bytes, sizeof bytes)) > 0;) filled += done;
  }
  return filled;
}

int main(void) {
  enum { children = 4 };
  int said[2], held[2];
  pipe(said);
  pipe(held);
  for (int i = 0; i < children; ++i) {
    if (fork() != 0) continue;
    long filled = fill();
    write(said[1], &filled, sizeof filled);
    close(held[1]);
    char byte;
    (void)!read(held[0], &byte, 1);
    _exit(0);
  }
  long all = 0;
  for (int i = 0; i < children; ++i) {
    long one = 0;
    if (read(said[0], &one, sizeof one) == sizeof one) all += one;
  }
  close(held[1]);
  while (wait(0) > 0) continue;
  if (all > 160L << 20) must_fail("pipes", 0);
  return verdict();
}
