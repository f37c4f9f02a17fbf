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

// A way out is open where SIGKILL has not ended the process.
static inline void must_be_killed(const char* what, pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  must_fail(what, WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL ? -1 : 0);
}

// Nor the one that does this.
static inline void expect_end(const char* what, void (*act)(void)) {
  const pid_t child = fork();
  if (child == 0) {
    act();
    _exit(0);
  }
  must_be_killed(what, child);
}

// The same of one that keeps what it has hoarded, within `seconds`.
static inline void expect_end_of_hoard(const char* what, void (*hoard)(void), unsigned seconds) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(seconds);
    hoard();
    for (;;) pause();
  }
  must_be_killed(what, child);
}

static inline int verdict(void) {
  if (openings == 0) puts("held");
  return openings != 0;
}
