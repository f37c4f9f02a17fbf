#include <setjmp.h>

// The runtime of the compiler's setjmp on exceptions. A function that calls setjmp marks the buffer with
// the address of a variable in its frame (which call of the function it is) and with the number of the setjmp in
// it; longjmp throws the buffer; every frame of that kind which catches it asks whether it is the one.
struct wasm_jmp_buf {
  void *invocation;
  unsigned label;
  struct thrown {
    struct wasm_jmp_buf *env;
    int value;
  } thrown;
};

void __wasm_setjmp(void *env, unsigned label, void *invocation)
{
  struct wasm_jmp_buf *buf = env;
  if (!label || !invocation) __builtin_trap();
  buf->invocation = invocation;
  buf->label = label;
}

unsigned __wasm_setjmp_test(void *env, void *invocation)
{
  struct wasm_jmp_buf *buf = env;
  if (!buf->label || !invocation) __builtin_trap();
  return buf->invocation == invocation ? buf->label : 0;
}

_Noreturn void __wasm_longjmp(void *env, int value)
{
  struct wasm_jmp_buf *buf = env;
  buf->thrown.env = buf;
  buf->thrown.value = value ? value : 1;
  __builtin_wasm_throw(1, &buf->thrown);
}

_Static_assert(sizeof(struct wasm_jmp_buf) <= sizeof(__jmp_buf), "jmp_buf holds what setjmp keeps");
