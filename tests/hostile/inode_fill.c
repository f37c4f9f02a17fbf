// SPDX-License-Identifier: Apache-2.0
// Makes empty files until there may be no more.
// limits: inodes=64
// ends: exited 0
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

int main(void) {
  for (int count = 0; count < 1000; ++count) {
    char name[32];
    snprintf(name, sizeof name, "/tmp/%d", count);
    const int fd = open(name, O_WRONLY | O_CREAT, 0600);
    if (fd < 0) return errno == ENOSPC || errno == EDQUOT ? 0 : 2;
    close(fd);
  }
  return 3;
}
