// SPDX-License-Identifier: Apache-2.0
// Well-behaved: memory that is shared without a file, made and given back again and again, ten times
// what the box has, and a little of it that stays.
#include <sys/mman.h>
#include <time.h>

#include "attack.h"

enum { piece_bytes = 8 << 20, kept_bytes = 4096, times = 160 };

static char* make(size_t bytes) {
  char* piece = mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (piece == MAP_FAILED) exit(2);
  memset(piece, 1, bytes);
  return piece;
}

int main(void) {
  const struct timespec pause = {0, 15 * 1000 * 1000};
  for (int i = 0; i < times; ++i) {
    if (i % 40 == 0) make(kept_bytes);
    nanosleep(&pause, 0);
    munmap(make(piece_bytes), piece_bytes);
  }
  puts("done");
  return 0;
}
