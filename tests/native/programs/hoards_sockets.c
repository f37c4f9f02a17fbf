// SPDX-License-Identifier: Apache-2.0
// Sockets that are bound to nothing, as many as all processes may have open: the kernel has some memory
// for each, which no process shows. Who has them is ended, and not who waits.
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "attack.h"

// A limit of 128 MiB has room for 32 of them, of which each has a thousand.
enum { children = 60, enough = children - 40, seconds = 20 };

int main(void) {
  pid_t all[children];
  for (int i = 0; i < children; ++i) {
    all[i] = fork();
    if (all[i] != 0) continue;
    alarm(seconds);
    while (socket(i % 2 == 0 ? AF_INET : AF_INET6, i % 4 < 2 ? SOCK_STREAM : SOCK_DGRAM, 0) >= 0)
      continue;
    for (;;) pause();
  }
  int ended = 0, status = 0;
  while (ended < enough && wait(&status) > 0)
    ended += WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
  for (int i = 0; i < children; ++i) kill(all[i], SIGKILL);
  must_fail("sockets", ended < enough ? 0 : -1);
  return verdict();
}
