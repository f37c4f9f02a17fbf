// SPDX-License-Identifier: Apache-2.0
// Neither the old nor the new way to mount is there, nor another root.
#include <fcntl.h>
#include <sys/mount.h>

#include "attack.h"

int main(void) {
  must_fail("tmpfs", mount("none", "/tmp", "tmpfs", 0, 0));
  must_fail("bind", mount("/etc", "/tmp", 0, MS_BIND, 0));
  must_fail("remount", mount(0, "/proc/sys", 0, MS_REMOUNT | MS_BIND, 0));
  must_fail("umount", umount2("/proc/sys", MNT_DETACH));
  must_fail("pivot_root", syscall(SYS_pivot_root, ".", "."));
  must_fail("chroot", chroot("/tmp"));
  must_fail("fsopen", syscall(430, "tmpfs", 0));
  must_fail("open_tree", syscall(428, AT_FDCWD, "/", 1));
  must_fail("move_mount", syscall(429, AT_FDCWD, "/tmp", AT_FDCWD, "/mnt", 0));
  must_fail("mount_setattr", syscall(442, AT_FDCWD, "/proc/sys", 0, 0, 0));
  must_fail("fspick", syscall(433, AT_FDCWD, "/", 0));
  return verdict();
}
