// SPDX-License-Identifier: Apache-2.0
// Namespaces, by each call that makes or enters one.
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>

#include "attack.h"

int main(void) {
  int kinds[] = {CLONE_NEWUSER, CLONE_NEWNS,  CLONE_NEWPID,    CLONE_NEWNET,
                 CLONE_NEWIPC,  CLONE_NEWUTS, CLONE_NEWCGROUP, 0x80};
  for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; ++i) {
    must_fail("unshare", unshare(kinds[i]));
    if (kinds[i] == 0x80) continue;  // of clone it is a signal's bit
    long pid = syscall(SYS_clone, kinds[i] | SIGCHLD, 0, 0, 0, 0);
    if (pid == 0) _exit(0);
    must_fail("clone", pid);
  }
  struct clone_args how = {.flags = CLONE_NEWUSER, .exit_signal = SIGCHLD};
  long pid = syscall(435, &how, sizeof how);
  if (pid == 0) _exit(0);
  must_fail("clone3", pid);
  must_fail("setns", setns(open("/proc/self/ns/uts", O_RDONLY), 0));
  return verdict();
}
