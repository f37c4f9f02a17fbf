// SPDX-License-Identifier: Apache-2.0
// Watches of epoll without end, of which the machine has so many for all boxes together: by a
// process with many descriptors, and by one whose second thread has a few of its own, each under
// many numbers. Who does it is ended, and not who waits. With a word: by some that are on their way
// to sockets, where nothing tells what they are.
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include "attack.h"
#include "send_away.h"

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

// Until there are no more watches for anybody.
static void watch_by_sent(void) {
  int watched[few], ends[2] = {-1, -1};
  for (int i = 0; i < few; ++i) watched[i] = eventfd(0, 0);
  for (;;) {
    const int by = epoll_create1(0);
    for (int i = 0; i < few; ++i) {
      for (int number = 600; number < 600 + numbers; ++number) {
        struct epoll_event event = {.events = EPOLLIN};
        dup2(watched[i], number);
        if (epoll_ctl(by, EPOLL_CTL_ADD, number, &event) != 0 && errno == ENOSPC) return compute();
      }
    }
    while (!send_away(ends[0], by)) {
      if (errno == ETOOMANYREFS) return compute();
      close(ends[0]);
      if (socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) != 0) return compute();
    }
  }
}

int main(int count, char** words) {
  (void)words;
  if (count > 1) {
    expect_end("sent ones", watch_by_sent);
    return verdict();
  }
  expect_end("many descriptors", watch_many);
  expect_end("many numbers", watch_in_a_thread);
  return verdict();
}
