// SPDX-License-Identifier: Apache-2.0
// Programs that would give privileges: setuid, setgid, with capabilities. Run again by them, it says
// what it got.
#include <fcntl.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>

#include "attack.h"

static void copy_self(const char* to) {
  char buffer[65536];
  int in = open("/proc/self/exe", O_RDONLY);
  int out = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0755);
  for (ssize_t got; (got = read(in, buffer, sizeof buffer)) > 0;) write(out, buffer, (size_t)got);
  close(in);
  close(out);
}

static int has_new_privileges(void) {
  struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
  struct __user_cap_data_struct sets[2] = {{0}};
  syscall(SYS_capget, &head, sets);
  return (sets[0].effective & (1u << CAP_SYS_ADMIN | 1u << CAP_SYS_PTRACE)) != 0 ||
         prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1;
}

int main(int argc, char** argv) {
  (void)argv;
  if (argc > 1) return has_new_privileges();
  copy_self("/tmp/again");
  struct vfs_cap_data all = {.magic_etc = VFS_CAP_REVISION_2 | VFS_CAP_FLAGS_EFFECTIVE,
                             .data = {{~0u, 0}, {~0u, 0}}};
  must_fail("capabilities of a file",
            setxattr("/tmp/again", "security.capability", &all, sizeof all, 0));
  chmod("/tmp/again", 06755);
  if (fork() == 0) {
    execl("/tmp/again", "again", "now", (char*)0);
    _exit(1);
  }
  int status = 0;
  wait(&status);
  must_fail("what a setuid program gives", WEXITSTATUS(status) == 0 ? -1 : 0);
  return verdict();
}
