// SPDX-License-Identifier: Apache-2.0
// Texts of /proc that somebody has begun to read: the kernel keeps each until it is closed. What it says
// of one epoll with many watches has megabytes. Who has them is ended, and not who waits.
#include <fcntl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/wait.h>

#include "attack.h"

enum { children = 4, enough = 3, files = 150, numbers = 150, first = 500, seconds = 20 };

// Each file under each number, which closing that number does not end.
static void watch(int epoll) {
  for (int i = 0; i < files; ++i) {
    const int file = eventfd(0, 0);
    for (int number = first; number < first + numbers; ++number) {
      struct epoll_event event = {.events = EPOLLIN};
      dup2(file, number);
      epoll_ctl(epoll, EPOLL_CTL_ADD, number, &event);
    }
  }
  for (int number = first; number < first + numbers; ++number) close(number);
}

static void read_texts(pid_t process, int epoll) {
  char path[64], byte;
  snprintf(path, sizeof path, "/proc/%d/fdinfo/%d", process, epoll);
  for (int file = 0; file >= 0;) {
    file = open(path, O_RDONLY);
    (void)!read(file, &byte, 1);
  }
}

int main(void) {
  enum { number = 900 };
  int ready[2];
  pipe(ready);
  pid_t all[children];
  for (int i = 0; i < children; ++i) {
    all[i] = fork();
    if (all[i] != 0) continue;
    char byte;
    close(ready[1]);
    (void)!read(ready[0], &byte, 1);
    alarm(seconds);
    read_texts(getppid(), number);
    for (;;) pause();
  }
  const int epoll = epoll_create1(0);
  dup2(epoll, number);
  close(epoll);
  watch(number);
  close(ready[1]);
  int ended = 0, status = 0;
  while (ended < enough && wait(&status) > 0)
    ended += WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
  for (int i = 0; i < children; ++i) kill(all[i], SIGKILL);
  must_fail("texts", ended < enough ? 0 : -1);
  return verdict();
}
