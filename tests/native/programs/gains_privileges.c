// SPDX-License-Identifier: Apache-2.0
// Privileges: what root is here, it is of this box alone, and nothing gives more.
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#include "attack.h"

int main(void) {
  must_fail("no_new_privs can be undone", prctl(PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0));
  must_fail("no_new_privs is not set", prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ? -1 : 0);
  int kept[] = {CAP_SYS_ADMIN,  CAP_SYS_PTRACE,   CAP_NET_ADMIN, CAP_NET_RAW,    CAP_MKNOD,
                CAP_SYS_MODULE, CAP_SYS_RESOURCE, CAP_SETFCAP,   CAP_SYS_CHROOT, CAP_BPF};
  for (unsigned i = 0; i < sizeof kept / sizeof *kept; ++i)
    must_fail("a capability in the bounding set",
              prctl(PR_CAPBSET_READ, kept[i], 0, 0, 0) ? 0 : -1);
  struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
  struct __user_cap_data_struct all[2] = {{~0u, ~0u, ~0u}, {~0u, ~0u, ~0u}};
  must_fail("capset", syscall(SYS_capset, &head, all));
  must_fail("setuid to another", setuid(1));
  must_fail("setresuid to the host's root", syscall(SYS_setresuid, -1, 4294967294u, -1));
  return verdict();
}
