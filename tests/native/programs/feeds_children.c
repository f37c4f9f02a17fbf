// SPDX-License-Identifier: Apache-2.0
// A small process whose children are large: where one is ended for its memory the next one comes.
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "attack.h"

int main(void) {
  const size_t size = 48 << 20;
  int ended = 0, started = 0;
  for (; ended < 6 && started < 200; ++started) {
    if (fork() == 0) {
      char* own = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (own == MAP_FAILED) _exit(0);
      memset(own, 1, size);
      sleep(20);
      _exit(0);
    }
    usleep(30000);
    int status = 0;
    while (waitpid(-1, &status, WNOHANG) > 0)
      ended += WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
  }
  if (ended < 6) must_fail("more memory than there may be", 0);
  signal(SIGTERM, SIG_IGN);
  kill(0, SIGTERM);
  return verdict();
}
