// SPDX-License-Identifier: Apache-2.0
// A tracer that wants its tracee to stop on its way out: of two that trace each other so, neither
// would ever end.
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "attack.h"

int main(void) {
  pid_t child = fork();
  if (child == 0)
    for (;;) pause();
  must_fail("seize", ptrace(PTRACE_SEIZE, child, 0, PTRACE_O_TRACEEXIT));
  if (ptrace(PTRACE_SEIZE, child, 0, PTRACE_O_TRACEEXEC) != 0) puts("cannot trace at all");
  if (ptrace(PTRACE_INTERRUPT, child, 0, 0) != 0 || waitpid(child, NULL, 0) != child)
    puts("cannot stop it");
  must_fail("options", ptrace(PTRACE_SETOPTIONS, child, 0, PTRACE_O_TRACEEXIT));
  const long old_set_options = 21;
  must_fail("old options",
            syscall(SYS_ptrace, old_set_options, (long)child, 0L, PTRACE_O_TRACEEXIT));
  kill(child, SIGKILL);
  waitpid(child, NULL, 0);
  return verdict();
}
