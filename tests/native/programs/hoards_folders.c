// SPDX-License-Identifier: Apache-2.0
// Open folders of the image to which many files were added: of each that was read the kernel keeps a list
// of all entries of its own, where something has changed since the one before. Who has them is ended,
// and not who waits.
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#include "attack.h"

enum { files = 8000, length = 200, most = 300, seconds = 30 };

static void fill(void) {
  char name[length + 1];
  memset(name, 'a', length);
  for (int i = 0; i < files; ++i) {
    snprintf(name + length - 8, 9, "%08d", i);
    close(open(name, O_CREAT | O_WRONLY, 0600));
  }
}

static void hoard(void) {
  static char entries[4096];
  for (int i = 0; i < most; ++i) {
    const int folder = open(".", O_RDONLY | O_DIRECTORY);
    if (folder < 0 || syscall(SYS_getdents64, folder, entries, sizeof entries) <= 0) break;
    close(open("changed", O_CREAT | O_WRONLY, 0600));
    unlink("changed");
  }
}

int main(void) {
  if (chdir("/tmp") != 0) return 1;
  fill();
  const pid_t child = fork();
  if (child == 0) {
    alarm(seconds);
    hoard();
    for (;;) pause();
  }
  int status = 0;
  waitpid(child, &status, 0);
  must_fail("folders", WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL ? -1 : 0);
  return verdict();
}
