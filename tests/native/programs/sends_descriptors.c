// SPDX-License-Identifier: Apache-2.0
// Descriptors that are on their way count, too: sent over sockets, and never received.
#include <fcntl.h>
#include <sys/socket.h>

#include "attack.h"

static long send_some(int socket, int fd) {
  enum { count = 200 };
  union {
    char bytes[CMSG_SPACE(sizeof(int) * count)];
    struct cmsghdr head;
  } control;
  memset(&control, 0, sizeof control);
  char byte = 0;
  struct iovec part = {&byte, 1};
  struct msghdr message = {.msg_iov = &part,
                           .msg_iovlen = 1,
                           .msg_control = control.bytes,
                           .msg_controllen = sizeof control.bytes};
  control.head.cmsg_level = SOL_SOCKET;
  control.head.cmsg_type = SCM_RIGHTS;
  control.head.cmsg_len = CMSG_LEN(sizeof(int) * count);
  int* fds = (int*)CMSG_DATA(&control.head);
  for (int i = 0; i < count; ++i) fds[i] = fd;
  return sendmsg(socket, &message, MSG_DONTWAIT) < 0 ? -1 : count;
}

// With a word: stays.
int main(int count, char** words) {
  (void)words;
  long sent = 0;
  for (int pairs = 0; pairs < 10; ++pairs) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) != 0) break;
    for (int i = 0; i < 20; ++i) {
      long some = send_some(ends[0], ends[1]);
      if (some < 0) break;
      sent += some;
    }
  }
  if (sent > 8192) must_fail("descriptors on their way", 0);
  const int said = verdict();
  fflush(stdout);
  while (count > 1) pause();
  return said;
}
