// SPDX-License-Identifier: Apache-2.0
// Sends descriptors over a socket, and closes its own.
// limits: descriptors=64 memory=128M
// ends: exited 0
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int main(void) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) != 0) return 2;
  for (int count = 0; count < 100000; ++count) {
    const int fd = open("/dev/null", O_RDONLY);
    if (fd < 0) return 3;
    char byte = 0;
    struct iovec data = {&byte, 1};
    union {
      struct cmsghdr header;
      char bytes[CMSG_SPACE(sizeof(int))];
    } control;
    memset(&control, 0, sizeof control);
    struct msghdr message = {0};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = control.bytes;
    message.msg_controllen = sizeof control.bytes;
    struct cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(header), &fd, sizeof fd);
    const ssize_t sent = sendmsg(ends[0], &message, 0);
    close(fd);
    if (sent < 0) return errno == ETOOMANYREFS || errno == EAGAIN || errno == ENOBUFS ? 0 : 4;
  }
  return 5;
}
