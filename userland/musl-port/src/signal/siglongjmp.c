#include <setjmp.h>
#include <signal.h>
#include "syscall.h"

_Noreturn void __wasm_longjmp(void *, int);

struct __jmp_buf_tag *__cloche_sigsetjmp(struct __jmp_buf_tag *env, int save)
{
  env->__fl = save != 0;
  if (save) __syscall(SYS_rt_sigprocmask, SIG_SETMASK, 0, env->__ss, _NSIG / 8);
  return env;
}

_Noreturn void siglongjmp(sigjmp_buf env, int value)
{
  if (env->__fl) __syscall(SYS_rt_sigprocmask, SIG_SETMASK, env->__ss, 0, _NSIG / 8);
  __wasm_longjmp(env, value);
}
