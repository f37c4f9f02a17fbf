// SPDX-License-Identifier: Apache-2.0
// Who is ended first where the machine has no memory: guests, whatever they write about themselves.
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

#include "attack.h"

enum { least = 750, lowest = 500 };

static int score_of(pid_t process) {
  char path[64], text[16] = "";
  snprintf(path, sizeof path, "/proc/%d/oom_score_adj", process);
  const int file = open(path, O_RDONLY);
  (void)!read(file, text, sizeof text - 1);
  close(file);
  return atoi(text);
}

static int lower(int number) {
  const int file = open("/proc/self/oom_score_adj", O_WRONLY);
  char text[16];
  const int size = snprintf(text, sizeof text, "%d", number);
  const int done = write(file, text, size) == size;
  close(file);
  return done;
}

static int is_held(pid_t process) {
  const time_t end = time(NULL) + 10;
  int status = 0;
  while (score_of(process) < least && time(NULL) < end) {
    if (process != getpid() && waitpid(process, &status, WNOHANG) == process) return 1;
    usleep(1000);
  }
  return score_of(process) >= least;
}

// Of which the file may be somebody else's.
static void hide(void) {
  const pid_t child = fork();
  if (child == 0) {
    lower(lowest);
    prctl(PR_SET_DUMPABLE, 0);
    alarm(20);
    for (;;) pause();
  }
  usleep(10000);
  must_fail("a hidden one", is_held(child) ? -1 : 0);
  kill(child, SIGKILL);
}

int main(void) {
  must_fail("nothing", score_of(getpid()) < least ? 0 : -1);
  must_fail("below all others", lower(-1000) ? 0 : -1);
  lower(lowest);
  must_fail("less", is_held(getpid()) ? -1 : 0);
  hide();
  return verdict();
}
