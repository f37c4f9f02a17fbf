// SPDX-License-Identifier: Apache-2.0
// Stops the first thread of a process by tracing it, and no other: one writes to a file again and
// again.
#include <fcntl.h>
#include <pthread.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "attack.h"

static void* go_on(void* nothing) {
  (void)nothing;
  for (long beat = 0; beat < 6000; ++beat) {
    int file = open("/workspace/beat", O_WRONLY | O_CREAT | O_TRUNC, 0644);
    dprintf(file, "%ld\n", beat);
    close(file);
    usleep(10000);
  }
  _exit(0);
}

int main(void) {
  const pid_t traced = fork();
  if (traced == 0) {
    usleep(200000);  // it is traced
    pthread_t other;
    if (pthread_create(&other, NULL, go_on, NULL) != 0) return 1;
    pthread_join(other, NULL);
  }
  if (ptrace(PTRACE_SEIZE, traced, 0, 0) != 0) return 1;
  while (access("/workspace/beat", F_OK) != 0) usleep(10000);
  if (ptrace(PTRACE_INTERRUPT, traced, 0, 0) != 0) return 1;
  waitpid(traced, NULL, __WALL);
  for (;;) pause();
}
