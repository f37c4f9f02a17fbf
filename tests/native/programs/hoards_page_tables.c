// SPDX-License-Identifier: Apache-2.0
// Tables of pages, without pages: a look at one byte in each 2 MB. The memory limit ends it.
#include <sys/mman.h>

#include "attack.h"

int main(void) {
  const size_t step = 2 << 20, looks = 120000;  // of 4 KiB each: 480 MB
  const size_t size = step * looks;
  volatile char* place =
      mmap(0, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (place == MAP_FAILED) return 2;
  madvise((void*)place, size, MADV_NOHUGEPAGE);
  for (size_t at = 0; at < size; at += step) (void)place[at];
  sleep(20);
  puts("open: tables of pages");
  return 0;
}
