// SPDX-License-Identifier: Apache-2.0
// What hostile guests say: one line for each way out that was open, and at the end "held" when
// there was none.
#pragma once

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int openings;

static inline void must_fail(const char* what, long result) {
  if (result < 0) return;
  ++openings;
  printf("open: %s\n", what);
}

static inline int verdict(void) {
  if (openings == 0) puts("held");
  return openings != 0;
}
