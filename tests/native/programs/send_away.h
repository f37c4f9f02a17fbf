// SPDX-License-Identifier: Apache-2.0
// Descriptors that are on their way to a socket, and that nobody has open.
#pragma once

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

// 0 where no more go that way, or `file` is none: errno says why.
static inline int send_away(int socket, int file) {
  char byte = 0, beside[CMSG_SPACE(sizeof file)] = {0};
  struct iovec bytes = {&byte, 1};
  struct msghdr message = {
      .msg_iov = &bytes, .msg_iovlen = 1, .msg_control = beside, .msg_controllen = sizeof beside};
  struct cmsghdr* const head = CMSG_FIRSTHDR(&message);
  *head = (struct cmsghdr){CMSG_LEN(sizeof file), SOL_SOCKET, SCM_RIGHTS};
  memcpy(CMSG_DATA(head), &file, sizeof file);
  return sendmsg(socket, &message, MSG_DONTWAIT) == 1 && close(file) == 0;
}
