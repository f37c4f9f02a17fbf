// SPDX-License-Identifier: Apache-2.0
// Sets of descriptors that watch one another.
// limits: descriptors=256
// ends: exited 0
#include <errno.h>
#include <sys/epoll.h>

int main(void) {
  int outer = epoll_create1(0);
  for (int depth = 0; depth < 200; ++depth) {
    const int inner = epoll_create1(0);
    if (inner < 0) return 2;
    struct epoll_event event = {.events = EPOLLIN};
    if (epoll_ctl(inner, EPOLL_CTL_ADD, outer, &event) != 0)
      return errno == ELOOP || errno == EINVAL ? 0 : 3;
    outer = inner;
  }
  return 4;
}
