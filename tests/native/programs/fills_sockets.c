// SPDX-License-Identifier: Apache-2.0
// Sockets between processes, all full: their buffers are the kernel's memory. The memory limit ends
// those who do it, and not who waits.
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "attack.h"

static char bytes[1 << 16];

static void fill(void) {
  for (int pairs = 0; pairs < 300; ++pairs) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) != 0) break;
    int most = 1 << 20;
    for (int i = 0; i < 2; ++i) {
      setsockopt(ends[i], SOL_SOCKET, SO_SNDBUF, &most, sizeof most);
      while (send(ends[i], bytes, sizeof bytes, 0) > 0) continue;
    }
  }
}

int main(void) {
  enum { children = 4 };
  pid_t all[children];
  for (int i = 0; i < children; ++i) {
    all[i] = fork();
    if (all[i] != 0) continue;
    fill();
    sleep(1);
    _exit(0);
  }
  int ended = 0;
  for (int i = 0; i < children; ++i) {
    int status = 0;
    waitpid(all[i], &status, 0);
    ended += WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
  }
  if (ended == 0) must_fail("sockets", 0);
  return verdict();
}
