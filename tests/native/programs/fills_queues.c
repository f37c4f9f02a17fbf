// SPDX-License-Identifier: Apache-2.0
// Memory of the kernel that belongs to no process: semaphores, queues, what watches files, requests
// of the old way, pages that a pipe keeps.
#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/uio.h>

#include "attack.h"

static int sets_of(int semaphores) {
  int sets = 0;
  while (sets < 2000 && semget(IPC_PRIVATE, semaphores, IPC_CREAT | 0600) >= 0) ++sets;
  return sets;
}

int main(void) {
  must_fail("a large set of semaphores", semget(IPC_PRIVATE, 30000, IPC_CREAT | 0600));
  if (sets_of(200) > 200) must_fail("sets of semaphores", 0);
  int queues = 0;
  while (queues < 2000 && msgget(IPC_PRIVATE, IPC_CREAT | 0600) >= 0) ++queues;
  if (queues > 100) must_fail("queues", 0);
  int watchers = 0;
  while (watchers < 500 && inotify_init1(0) >= 0) ++watchers;
  if (watchers > 100) must_fail("watchers", 0);
  unsigned long context = 0;
  must_fail("io_setup", syscall(SYS_io_setup, 1000, &context));
  int ends[2];
  if (pipe(ends) != 0) {  // the watchers have all descriptors
    close(10);
    close(11);
    pipe(ends);
  }
  struct iovec part = {"x", 1};
  must_fail("vmsplice", vmsplice(ends[1], &part, 1, 0));
  return verdict();
}
