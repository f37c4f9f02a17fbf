// SPDX-License-Identifier: Apache-2.0
// Asks for what only root may have.
// ends: exited 0
#include <grp.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/reboot.h>
#include <unistd.h>

int main(void) {
  if (setuid(0) == 0 || seteuid(0) == 0 || setgid(0) == 0 || geteuid() == 0) return 2;
  const gid_t root = 0;
  if (setgroups(1, &root) == 0) return 3;
  if (mount("none", "/tmp", "tmpfs", 0, 0) == 0 || umount2("/proc", MNT_DETACH) == 0) return 4;
  if (chroot("/tmp") == 0) return 5;
  if (ptrace(PTRACE_ATTACH, 1, 0, 0) == 0) return 6;
  if (reboot(RB_AUTOBOOT) == 0) return 7;
  if (sethostname("other", 5) == 0) return 8;
  return nice(-5) == -1 ? 0 : 9;
}
