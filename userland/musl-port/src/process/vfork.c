#define _GNU_SOURCE
#define __CLOCHE_NO_VFORK
#include <errno.h>
#include <unistd.h>
#include "cloche_kernel.h"
#include "syscall.h"

// Starts the state in which calls act on a new child. 0, or -1 and errno.
int __cloche_vfork(void)
{
  if (__cloche_vforking) return __syscall_ret(-EAGAIN);
  long r = __cloche_syscall(CLOCHE_VFORK_BEGIN, 0, 0, 0, 0, 0, 0);
  if (r < 0) return __syscall_ret(r);
  __cloche_vforking = CLOCHE_VFORKED;
  return 0;
}

// The symbol is for link probes: callers that see unistd.h get the macro, which has a frame to come back to.
pid_t vfork(void)
{
  return __syscall_ret(-ENOSYS);
}
