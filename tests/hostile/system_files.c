// SPDX-License-Identifier: Apache-2.0
// Changes what belongs to the system, by every call that could.
// ends: exited 0
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

int main(void) {
  if (open("/etc/passwd", O_WRONLY) >= 0 || open("/etc/passwd", O_RDWR | O_TRUNC) >= 0) return 2;
  if (open("/usr/bin/evil", O_WRONLY | O_CREAT, 0755) >= 0) return 3;
  if (unlink("/usr/bin/bash") == 0 || rename("/usr/bin/bash", "/tmp/bash") == 0) return 4;
  if (rename("/tmp", "/usr/tmp") == 0) return 5;
  if (chmod("/etc", 0777) == 0 || chown("/etc/passwd", getuid(), getgid()) == 0) return 6;
  if (truncate("/etc/passwd", 0) == 0) return 7;
  if (mkdir("/new", 0777) == 0 || symlink("/tmp", "/usr/link") == 0) return 8;
  if (link("/etc/passwd", "/tmp/passwd") == 0) return 9;
  if (mknod("/tmp/disk", S_IFBLK | 0600, 0x800) == 0) return 10;
  return 0;
}
