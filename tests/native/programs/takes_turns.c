// SPDX-License-Identifier: Apache-2.0
// takes_turns MIB: takes so much memory, and its threads start each the next one and end: who asks
// one of them finds that it is gone.
#include <pthread.h>
#include <sys/mman.h>

#include "attack.h"

static pthread_attr_t small;

static void* take_turn(void* nothing) {
  pthread_t next;
  while (pthread_create(&next, &small, take_turn, nothing) != 0) continue;
  return NULL;
}

int main(int count, char** words) {
  const size_t memory = (size_t)(count > 1 ? atoi(words[1]) : 0) << 20;
  pthread_attr_init(&small);
  pthread_attr_setdetachstate(&small, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&small, 16384);
  pthread_t first;
  if (pthread_create(&first, &small, take_turn, NULL) != 0) return 1;
  if (memory > 0) {
    char* all = mmap(NULL, memory, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (all != MAP_FAILED) memset(all, 1, memory);
  }
  syscall(SYS_exit, 0);
}
