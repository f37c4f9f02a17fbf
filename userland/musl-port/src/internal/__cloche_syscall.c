#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <ucontext.h>
#include "cloche_kernel.h"

volatile int __cloche_sigpending;
int __cloche_vforking;
int __cloche_spawned;
unsigned long long __cloche_vfork_buf[sizeof(jmp_buf) / sizeof(long long)];

// Kept out of the system call path: a ucontext_t is large, and the shell's stack is deep.
static __attribute__((__noinline__)) void call_handler(struct cloche_signal *next)
{
  if (next->flags & SA_SIGINFO) {
    ucontext_t context = { 0 };
    void (*action)(int, siginfo_t *, void *) = (void (*)(int, siginfo_t *, void *))next->handler;
    __builtin_memcpy(&context.uc_sigmask, &next->restore_mask, sizeof next->restore_mask);
    action(next->signo, (siginfo_t *)next->siginfo, &context);
  } else {
    void (*handler)(int) = (void (*)(int))next->handler;
    handler(next->signo);
  }
}

void __cloche_run_signals(void)
{
  struct cloche_signal next;
  if (__cloche_vforking) return;
  while (__linux_syscall(CLOCHE_SIGNAL_NEXT, (long)&next, 0, 0, 0, 0, 0) == 1) {
    call_handler(&next);
    __linux_syscall(CLOCHE_SIGNAL_RETURN, (long)next.restore_mask, (long)(next.restore_mask >> 32), 0, 0, 0, 0);
  }
}

long __cloche_syscall(long n, long a, long b, long c, long d, long e, long f)
{
  for (;;) {
    long r = __linux_syscall(n, a, b, c, d, e, f);
    if (__cloche_sigpending) __cloche_run_signals();
    if (r != -CLOCHE_ERESTART) return r;
    // Nothing takes the signal in this state, so the call would be interrupted for ever.
    if (__cloche_vforking) return -EINTR;
  }
}
