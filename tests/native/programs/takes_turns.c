// SPDX-License-Identifier: Apache-2.0
// takes_turns MIB: its threads start each the next one and end, so that who asks one of them finds
// that it is gone. The first one ends at once, and the others take so much memory between them.
#include <pthread.h>
#include <sys/mman.h>

#include "attack.h"

static pthread_attr_t small;
static char* all;
static size_t memory, taken;

static void* take_turn(void* nothing) {
  const size_t piece = 64 << 10;
  if (taken < memory) {
    memset(all + taken, 1, piece);
    taken += piece;
  }
  pthread_t next;
  while (pthread_create(&next, &small, take_turn, nothing) != 0) continue;
  return NULL;
}

int main(int count, char** words) {
  memory = (size_t)(count > 1 ? atoi(words[1]) : 0) << 20;
  pthread_attr_init(&small);
  pthread_attr_setdetachstate(&small, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&small, 16384);
  if (memory > 0)
    all = mmap(NULL, memory, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  pthread_t first;
  if (all == MAP_FAILED || pthread_create(&first, &small, take_turn, NULL) != 0) return 1;
  syscall(SYS_exit, 0);
}
