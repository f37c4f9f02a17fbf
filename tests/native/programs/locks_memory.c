// SPDX-License-Identifier: Apache-2.0
// Memory that the machine may not take away: locked, or of message queues.
#include <fcntl.h>
#include <mqueue.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "attack.h"

int main(void) {
  size_t size = 16 << 20;
  void* piece = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  must_fail("mlock", mlock(piece, size));
  must_fail("a higher limit", setrlimit(RLIMIT_MEMLOCK, &(struct rlimit){1 << 30, 1 << 30}));
  must_fail("more processes", setrlimit(RLIMIT_NPROC, &(struct rlimit){100000, 100000}));
  int queues = 0;
  char name[32];
  struct mq_attr shape = {.mq_maxmsg = 10, .mq_msgsize = 8192};
  for (; queues < 1000; ++queues) {
    snprintf(name, sizeof name, "/q%d", queues);
    if (mq_open(name, O_CREAT | O_RDWR, 0600, &shape) < 0) break;
  }
  if (queues > 10) must_fail("message queues", 0);
  return verdict();
}
