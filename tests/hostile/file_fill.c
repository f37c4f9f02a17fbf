// SPDX-License-Identifier: Apache-2.0
// Writes one file until there is no room.
// limits: files=1M
// ends: exited 0
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

int main(void) {
  static char block[65536];
  const int fd = open("/tmp/big", O_WRONLY | O_CREAT, 0600);
  if (fd < 0) return 2;
  for (int count = 0; count < 1000; ++count) {
    if (write(fd, block, sizeof block) < 0) return errno == ENOSPC || errno == EDQUOT ? 0 : 3;
  }
  return 4;
}
