/* The end of setjmp.h. The compiler knows setjmp by its name only, so every other spelling becomes it. */
#ifdef __cplusplus
extern "C" {
#endif

/* Saves the signal mask in the buffer when asked to, and returns the buffer. */
struct __jmp_buf_tag *__cloche_sigsetjmp(struct __jmp_buf_tag *, int);

#ifdef __cplusplus
}
#endif

#undef _setjmp
#define _setjmp(env) setjmp(env)
#undef sigsetjmp
#define sigsetjmp(env, save) setjmp(__cloche_sigsetjmp((env), (save)))
