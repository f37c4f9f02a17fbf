// SPDX-License-Identifier: Apache-2.0
// Pid 1 keeps privileges of its namespace: nothing of it may be read, written, traced or limited.
#include <fcntl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/uio.h>

#include "attack.h"

int main(void) {
  const char* files[] = {"/proc/1/environ",  "/proc/1/mem",     "/proc/1/maps", "/proc/1/fd/3",
                         "/proc/1/root/etc", "/proc/1/cwd/etc", "/proc/1/exe",  "/proc/1/stack",
                         "/proc/1/auxv",     "/proc/1/ns/net"};
  for (unsigned i = 0; i < sizeof files / sizeof *files; ++i)
    must_fail(files[i], open(files[i], O_RDONLY));
  must_fail("write to /proc/1/mem", open("/proc/1/mem", O_WRONLY));
  must_fail("trace of 1", ptrace(PTRACE_ATTACH, 1, 0, 0));
  must_fail("seize of 1", ptrace(PTRACE_SEIZE, 1, 0, 0));
  char byte;
  struct iovec here = {&byte, 1}, there = {(void*)0x400000, 1};
  must_fail("process_vm_readv", process_vm_readv(1, &here, 1, &there, 1, 0));
  must_fail("process_vm_writev", process_vm_writev(1, &here, 1, &there, 1, 0));
  struct rlimit limit = {1, 1};
  must_fail("prlimit of 1", prlimit(1, RLIMIT_NOFILE, &limit, 0));
  int pidfd = (int)syscall(434, 1, 0);
  must_fail("pidfd_getfd of 1", syscall(438, pidfd, 3, 0));
  must_fail("kcmp", syscall(SYS_kcmp, 1, getpid(), 0, 0, 0));
  return verdict();
}
