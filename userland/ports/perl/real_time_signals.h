/* Real-time signals count from 34, as everywhere on Linux and in the guests' bash. musl keeps signal 34 for threads, of which
 * perl has none, so sigaction of that one is the system's own. */
#include <signal.h>
#include <sys/syscall.h>

#undef SIGRTMIN
#define SIGRTMIN 34

static inline int any_sigaction(int signo, const struct sigaction* action, struct sigaction* before) {
  struct { void (*handler)(int); unsigned long flags; unsigned int mask[2]; } new_action = {0}, old = {0};
  if (signo != SIGRTMIN) return sigaction(signo, action, before);
  if (action) {
    new_action.handler = action->sa_handler;
    new_action.flags = action->sa_flags;
    memcpy(new_action.mask, &action->sa_mask, sizeof new_action.mask);
  }
  if (syscall(SYS_rt_sigaction, signo, action ? &new_action : NULL, &old, sizeof old.mask) < 0) return -1;
  if (before) {
    memset(before, 0, sizeof *before);
    before->sa_handler = old.handler;
    before->sa_flags = old.flags;
    memcpy(&before->sa_mask, old.mask, sizeof old.mask);
  }
  return 0;
}
#define sigaction(signo, action, before) any_sigaction(signo, action, before)
