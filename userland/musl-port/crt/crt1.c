#include <features.h>
#include "libc.h"
#include "cloche_kernel.h"
#include "cloche_start.h"

int __main_void(void);
void __wasm_call_ctors(void);
_Noreturn int __libc_start_main(int (*)(int, char **, char **), int, char **, void (*)(), void (*)(), void (*)());

struct cloche_start __cloche_start;

// Takes the place of musl's walk over .init_array: the linker gathers the constructors in one function.
hidden void __libc_start_init(void)
{
  __wasm_call_ctors();
}

static int call_main(int argc, char **argv, char **envp)
{
  __cloche_start = (struct cloche_start){ argc, argv, envp };
  __cloche_stdbuf(envp);
  return __main_void();
}

void _start(void)
{
  long size = __linux_syscall(CLOCHE_STARTUP_SIZE, 0, 0, 0, 0, 0, 0);
  if (size < (long)sizeof(long)) __builtin_trap();
  // The strings live as long as the program, and this frame too.
  long *block = __builtin_alloca_with_align((unsigned long)size, 128);
  if (__linux_syscall(CLOCHE_STARTUP_COPY, (long)block, size, 0, 0, 0, 0) < 0) __builtin_trap();
  __libc_start_main(call_main, (int)block[0], (char **)(block + 1), 0, 0, 0);
}
