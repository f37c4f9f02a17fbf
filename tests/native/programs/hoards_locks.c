// SPDX-License-Identifier: Apache-2.0
// Locks of parts of files, which the kernel keeps each by itself, as many as are asked for: it takes longer
// the more a file has, so that of each of hundreds there are some more all the time. Who has them is
// ended, and not who waits.
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#include "attack.h"

enum { children = 4, enough = 3, files = 900, seconds = 60 };

static int all_files[files];

static void hoard(int command) {
  for (long place = 0;; place += 2) {
    for (int i = 0; i < files; ++i) {
      struct flock lock = {
          .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = place, .l_len = 1, .l_pid = 0};
      if (fcntl(all_files[i], command, &lock) != 0) return;
    }
  }
}

static void open_files(void) {
  char name[64];
  for (int i = 0; i < files; ++i) {
    snprintf(name, sizeof name, "/tmp/locked-%d-%d", getpid(), i);
    all_files[i] = open(name, O_CREAT | O_RDWR, 0600);
  }
}

int main(int count, char** words) {
  const int command = count > 1 && words[1][0] == 'o' ? F_OFD_SETLK : F_SETLK;
  pid_t all[children];
  for (int i = 0; i < children; ++i) {
    all[i] = fork();
    if (all[i] != 0) continue;
    alarm(seconds);
    open_files();
    hoard(command);
    for (;;) pause();
  }
  int ended = 0, status = 0;
  while (ended < enough && wait(&status) > 0)
    ended += WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
  for (int i = 0; i < children; ++i) kill(all[i], SIGKILL);
  must_fail("locks", ended < enough ? 0 : -1);
  return verdict();
}
