// SPDX-License-Identifier: Apache-2.0
// Threads up to the limit; says how many there were.
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static void* wait_for_ever(void* unused) {
  (void)unused;
  pause();
  return 0;
}

int main(void) {
  int count = 0;
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 65536);
  pthread_t thread;
  while (count < 100000 && pthread_create(&thread, &small, wait_for_ever, 0) == 0) ++count;
  printf("%s\n", count < 200 ? "held" : "open: threads");
  return 0;
}
