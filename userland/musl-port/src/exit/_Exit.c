#include <stdlib.h>
#include "cloche_kernel.h"
#include "syscall.h"

_Noreturn void _Exit(int code)
{
  for (;;) {
    long r = __syscall(SYS_exit_group, code);
    if (r > 0 && __cloche_vforking) {
      __cloche_vforking = 0;
      __wasm_longjmp(__cloche_vfork_buf, r);
    }
  }
}
