// SPDX-License-Identifier: Apache-2.0
// Watches of epoll without end, of which the machine has so many for all boxes together: by a
// process with many descriptors, and by one whose second thread has a few of its own, each under
// many numbers. Who does it is ended, and not who waits.
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include "attack.h"

enum { files = 480, numbers = 300, few = 100, rounds = 40 };

static void watch(int by, int what) {
  struct epoll_event event = {.events = EPOLLIN};
  epoll_ctl(by, EPOLL_CTL_ADD, what, &event);
}

// Until it is ended.
static void compute(void) {
  alarm(20);
  for (;;) continue;
}

static void watch_many(void) {
  static int watched[files];
  for (int i = 0; i < files; ++i) watched[i] = eventfd(0, 0);
  for (int i = 0; i < files; ++i) {
    int by = epoll_create1(0);
    for (int j = 0; j < files; ++j) watch(by, watched[j]);
  }
  compute();
}

static void* watch_by_numbers(void* unused) {
  (void)unused;
  if (unshare(CLONE_FILES) != 0) return NULL;
  int by[few];
  for (int i = 0; i < few; ++i) by[i] = epoll_create1(0);
  for (int round = 0; round < rounds; ++round) {
    int file = eventfd(0, 0);
    for (int number = 0; number < numbers; ++number) {
      dup2(file, 600 + number);
      for (int i = 0; i < few; ++i) watch(by[i], 600 + number);
    }
    for (int number = 0; number < numbers; ++number) close(600 + number);
  }
  compute();
  return NULL;
}

static void watch_in_a_thread(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, watch_by_numbers, NULL);
  pthread_join(thread, NULL);
}

int main(void) {
  expect_end("many descriptors", watch_many);
  expect_end("many numbers", watch_in_a_thread);
  return verdict();
}
