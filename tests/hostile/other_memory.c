// SPDX-License-Identifier: Apache-2.0
// Looks for the memory and the descriptors of what started it.
// ends: exited 0
#include <fcntl.h>
#include <unistd.h>

int main(void) {
  if (open("/proc/1/mem", O_RDWR) >= 0 || open("/dev/mem", O_RDWR) >= 0) return 2;
  if (open("/proc/kcore", O_RDONLY) >= 0) return 3;
  if (open("/proc/1/root/etc/shadow", O_RDONLY) >= 0 || open("/etc/shadow", O_RDONLY) >= 0)
    return 4;
  for (int fd = 3; fd < 1024; ++fd) {
    if (fcntl(fd, F_GETFD) >= 0) return 5;
  }
  return 0;
}
