// SPDX-License-Identifier: Apache-2.0
// Areas of memory without end, with nothing in them: what the kernel knows them by is its memory.
// Who has them is ended, and not who waits.
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "attack.h"

enum { pairs = 32000, processes = 24, page = 4096 };

static void split(void) {
  char* all = mmap(NULL, 2L * pairs * page, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  for (long i = 0; all != MAP_FAILED && i < pairs; ++i)
    madvise(all + 2 * i * page, page, MADV_NOHUGEPAGE);
}

int main(void) {
  pid_t all[processes];
  int ended = 0;
  for (int i = 0; i < processes; ++i) {
    all[i] = fork();
    if (all[i] != 0) continue;
    split();
    alarm(10);
    for (;;) continue;
  }
  for (int i = 0; i < processes; ++i) {
    int status = 0;
    waitpid(all[i], &status, 0);
    ended += WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
  }
  // A limit of 128 MiB has room for 8 of them.
  must_fail("areas", ended < processes - 8 ? 0 : -1);
  return verdict();
}
