#include <setjmp.h>

_Noreturn void __wasm_longjmp(void *, int);

// For calls through a pointer and for the linker; the compiler turns direct calls into the runtime's.
_Noreturn void longjmp(jmp_buf env, int value)
{
  __wasm_longjmp(env, value);
}

_Noreturn void _longjmp(jmp_buf env, int value)
{
  __wasm_longjmp(env, value);
}

// A setjmp that is called through a pointer has no frame to come back to.
int __cloche_no_setjmp(void *) __asm__("setjmp");
int __cloche_no_setjmp(void *env)
{
  __builtin_trap();
}
