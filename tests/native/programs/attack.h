// SPDX-License-Identifier: Apache-2.0
// What hostile guests say: one line for each way out that was open, and at the end "held" when
// there was none.
#pragma once

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int openings;

static inline void must_fail(const char* what, long result) {
  if (result < 0) return;
  ++openings;
  printf("open: %s\n", what);
}

// A way out is open where SIGKILL has not ended the process that does it.
static inline void expect_end(const char* what, void (*act)(void)) {
  const pid_t child = fork();
  if (child == 0) {
    act();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  must_fail(what, WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL ? -1 : 0);
}

static inline int verdict(void) {
  if (openings == 0) puts("held");
  return openings != 0;
}
