// SPDX-License-Identifier: Apache-2.0
// A file of a terabyte in which nothing is written.
// limits: files=1M
// ends: exited 0
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

int main(void) {
  const int fd = open("/tmp/sparse", O_RDWR | O_CREAT, 0600);
  if (fd < 0) return 2;
  if (ftruncate(fd, 1LL << 40) != 0) return 0;
  struct stat about;
  if (fstat(fd, &about) != 0 || about.st_blocks > 2048) return 3;
  char byte = 1;
  return pread(fd, &byte, 1, (1LL << 40) - 1) == 1 && byte == 0 ? 0 : 4;
}
