// SPDX-License-Identifier: Apache-2.0
// Parts of the kernel that no guest needs, and that had the most holes.
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "attack.h"

// What the kernel compiles it has memory for but once: a guest that took all of that would leave no box
// a filter, and so no command.
static void give_programs(void) {
  struct sock_filter yes = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  struct sock_fprog program = {1, &yes};
  const long beyond = 1L << 32;
  const int udp = socket(AF_INET, SOCK_DGRAM, 0), tcp = socket(AF_INET, SOCK_STREAM, 0);
  for (int i = 0; i < 2; ++i) {
    const int name = i == 0 ? SO_ATTACH_FILTER : SO_ATTACH_REUSEPORT_CBPF;
    must_fail("a program of a socket", setsockopt(udp, SOL_SOCKET, name, &program, sizeof program));
    must_fail("by larger numbers", syscall(SYS_setsockopt, udp, SOL_SOCKET | beyond, name | beyond,
                                           &program, sizeof program));
  }
  must_fail("a filter", syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program));
  must_fail("a filter, as none there are", errno == EINVAL ? -1 : 0);
  must_fail("a filter by prctl", prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program));
  must_fail("a protocol above TCP", setsockopt(tcp, IPPROTO_TCP, TCP_ULP, "tls", 4));
  must_fail("a protocol above TCP, whether there is one or not", errno == EPERM ? -1 : 0);
  const int on = 1;
  must_fail("an option", setsockopt(tcp, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) == 0 ? -1 : 0);
}

// Tables of the kernel's that are as large as one says, and count for nobody.
static void make_tables(void) {
  enum { set_futex_table = 78, set_slots = 1 };
  must_fail("a table of futexes", prctl(set_futex_table, set_slots, 1L << 10, 0, 0));
  must_fail("by a larger number",
            syscall(SYS_prctl, set_futex_table | 1L << 32, set_slots, 1L << 10, 0, 0));
  const unsigned long long rules[3] = {0, 3, 0};
  must_fail("rules of Landlock", syscall(444, rules, sizeof rules, 0));
  must_fail("rules of Landlock, as none there are", errno == ENOSYS ? -1 : 0);
}

int main(void) {
  give_programs();
  make_tables();
  char buffer[256] = {0};
  must_fail("bpf", syscall(SYS_bpf, 0, buffer, sizeof buffer));
  must_fail("perf_event_open", syscall(SYS_perf_event_open, buffer, 0, -1, -1, 0));
  must_fail("userfaultfd", syscall(SYS_userfaultfd, 0));
  must_fail("userfaultfd for users", syscall(SYS_userfaultfd, 1));
  must_fail("io_uring_setup", syscall(425, 4, buffer));
  must_fail("keyctl", syscall(SYS_keyctl, 0, -3, 1));
  must_fail("add_key", syscall(SYS_add_key, "user", "x", "y", 1, -3));
  must_fail("memfd_secret", syscall(447, 0));
  must_fail("memfd_create", syscall(SYS_memfd_create, "x", 0));
  must_fail("init_module", syscall(SYS_init_module, buffer, 1, ""));
  must_fail("finit_module", syscall(SYS_finit_module, 0, "", 0));
  must_fail("kexec_load", syscall(SYS_kexec_load, 0, 0, 0, 0));
  must_fail("open_by_handle_at", syscall(SYS_open_by_handle_at, AT_FDCWD, buffer, 0));
  must_fail("name_to_handle_at", syscall(SYS_name_to_handle_at, AT_FDCWD, "/", buffer, buffer, 0));
  must_fail("swapon", syscall(SYS_swapon, "/tmp/x", 0));
  must_fail("reboot", syscall(SYS_reboot, 0xfee1dead, 672274793, 0, 0));
  must_fail("syslog", syscall(SYS_syslog, 3, buffer, sizeof buffer));
  must_fail("settimeofday", settimeofday(&(struct timeval){0, 0}, 0));
  must_fail("acct", syscall(SYS_acct, "/tmp/x"));
  must_fail("fanotify_init", syscall(SYS_fanotify_init, 0, 0));
  must_fail("move_pages", syscall(SYS_move_pages, 0, 0, 0, 0, 0, 0));
  must_fail("personality", personality(PER_SVR4));
  must_fail("a call to come", syscall(600));
#ifdef __x86_64__
  must_fail("iopl", syscall(SYS_iopl, 3));
  must_fail("modify_ldt", syscall(SYS_modify_ldt, 0, buffer, sizeof buffer));
  must_fail("x32 call", syscall(0x40000000 | SYS_getpid));
#endif
  return verdict();
}
