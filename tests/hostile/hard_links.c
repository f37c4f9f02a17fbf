// SPDX-License-Identifier: Apache-2.0
// Fills directories with names of one file.
// limits: inodes=64 files=1M
// ends: exited 0
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

int main(void) {
  const int fd = open("/tmp/one", O_WRONLY | O_CREAT, 0600);
  if (fd < 0) return 2;
  for (int count = 0; count < 1000000; ++count) {
    char name[64];
    snprintf(name, sizeof name, "/tmp/another-name-for-the-same-file-%d", count);
    if (link("/tmp/one", name) != 0)
      return errno == EMLINK || errno == ENOSPC || errno == EDQUOT ? 0 : 3;
  }
  return 4;
}
