// SPDX-License-Identifier: Apache-2.0
// What all boxes of an image have of it in memory stays there, whatever one of them advises.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "attack.h"

enum { page = 4096, most = 1 << 16 };

static int pages_in_memory(int file, off_t size) {
  static unsigned char pages[most];
  void* const all = mmap(NULL, size, PROT_READ, MAP_SHARED, file, 0);
  int count = 0;
  if (size > (off_t)most * page || mincore(all, size, pages) != 0) return -1;
  for (off_t i = 0; i < size / page; ++i) count += pages[i] & 1;
  munmap(all, size);
  return count;
}

int main(void) {
  const int file = open("/usr/bin/sort", O_RDONLY);
  struct stat of;
  char bytes[page];
  fstat(file, &of);
  while (read(file, bytes, sizeof bytes) > 0) continue;
  const int before = pages_in_memory(file, of.st_size);
  if (before <= 0) puts("nothing is in memory");
  for (long advice = 0; advice < 8; ++advice) {
    syscall(SYS_fadvise64, file, 0, 0, advice);
    syscall(SYS_fadvise64, file, 0, 0, advice | 1L << 32);
  }
  void* const all = mmap(NULL, of.st_size, PROT_READ, MAP_SHARED, file, 0);
  for (off_t at = 0; at < of.st_size; at += page) (void)((volatile char*)all)[at];
  for (long advice = MADV_COLD; advice <= MADV_PAGEOUT; ++advice) {
    madvise(all, of.st_size, advice);
    syscall(SYS_madvise, all, of.st_size, advice | 1L << 32);
  }
  must_fail("advice about its own pages", madvise(all, of.st_size, MADV_WILLNEED) == 0 ? -1 : 0);
  munmap(all, of.st_size);
  must_fail("pages of the image", pages_in_memory(file, of.st_size) < before ? 0 : -1);
  return verdict();
}
