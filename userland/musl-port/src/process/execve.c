#include <errno.h>
#include <unistd.h>
#include "cloche_kernel.h"
#include "syscall.h"

int execve(const char *path, char *const argv[], char *const envp[])
{
  long r = __syscall(SYS_execve, path, argv, envp);
  if (r > 0 && __cloche_vforking == CLOCHE_SPAWNING) {
    __cloche_vforking = 0;
    __cloche_spawned = r;
    errno = 0;
    return -1;
  }
  if (r > 0 && __cloche_vforking) {
    __cloche_vforking = 0;
    __wasm_longjmp(__cloche_vfork_buf, r);
  }
  return __syscall_ret(r);
}
