// SPDX-License-Identifier: Apache-2.0
// Pipes, and fifos, as many as all processes may have open, all full. Each keeps two pages at least,
// which no process shows. Who has them is ended, and not who waits.
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "attack.h"

// A limit of 128 MiB has room for 16 of them, of which each has a thousand; and for fewer fifos than the
// box may have files.
enum { children = 60, enough = children - 16, enough_of_fifos = 1, seconds = 20 };

static char bytes[4096];

static void fill(int writes_to) {
  while (write(writes_to, bytes, sizeof bytes) > 0) continue;
}

static void fill_pipes(void) {
  int ends[2];
  while (pipe2(ends, O_NONBLOCK) == 0) {
    fill(ends[1]);
    close(ends[1]);  // what is in it stays
  }
}

static void fill_fifos(void) {
  char name[64];
  snprintf(name, sizeof name, "/tmp/fifo-%d", getpid());
  for (;;) {
    if (mkfifo(name, 0600) != 0) break;
    const int both = open(name, O_RDWR | O_NONBLOCK);
    unlink(name);
    if (both < 0) break;
    fill(both);
  }
}

int main(int count, char** words) {
  const int has_fifos = count > 1 && words[1][0] == 'f';
  const int least = has_fifos ? enough_of_fifos : enough;
  pid_t all[children];
  for (int i = 0; i < children; ++i) {
    all[i] = fork();
    if (all[i] != 0) continue;
    alarm(seconds);
    if (has_fifos) {
      fill_fifos();
    } else {
      fill_pipes();
    }
    for (;;) pause();
  }
  int ended = 0, status = 0;
  while (ended < least && wait(&status) > 0)
    ended += WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
  for (int i = 0; i < children; ++i) kill(all[i], SIGKILL);
  must_fail("pipes", ended < least ? 0 : -1);
  return verdict();
}
