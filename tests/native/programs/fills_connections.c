// SPDX-License-Identifier: Apache-2.0
// Connections within the box, or messages, or answers of the kernel, that nobody reads: what they wait
// in is the kernel's memory. The memory limit ends those who do it, and not who waits.
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "attack.h"

enum { children = 4, enough = 3, pairs = 450, files = 900, seconds = 20 };

static char bytes[60000];
static struct sockaddr_in name;
static socklen_t name_size = sizeof name;

static int at_loopback(int kind) {
  const int file = socket(AF_INET, kind | SOCK_NONBLOCK, 0);
  name = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  bind(file, (struct sockaddr*)&name, sizeof name);
  getsockname(file, (struct sockaddr*)&name, &name_size);
  return file;
}

static void fill_connections(void) {
  const int listener = at_loopback(SOCK_STREAM);
  listen(listener, pairs);
  for (int i = 0; i < pairs; ++i) {
    const int one = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(one, (struct sockaddr*)&name, sizeof name) != 0) break;
    const int other = accept(listener, NULL, NULL);
    while (send(one, bytes, sizeof bytes, MSG_DONTWAIT) > 0) continue;
    while (send(other, bytes, sizeof bytes, MSG_DONTWAIT) > 0) continue;
  }
}

static void fill_with_messages(void) {
  const int sender = socket(AF_INET, SOCK_DGRAM, 0);
  const int most = 1 << 20;
  for (int i = 0; i < files; ++i) {
    const int one = at_loopback(SOCK_DGRAM);
    setsockopt(one, SOL_SOCKET, SO_RCVBUF, &most, sizeof most);
    for (int times = 0; times < 64; ++times)
      sendto(sender, bytes, sizeof bytes, MSG_DONTWAIT, (struct sockaddr*)&name, sizeof name);
  }
}

static void fill_with_answers(void) {
  struct {
    struct nlmsghdr head;
    struct ifinfomsg about;
  } question = {{sizeof question, RTM_GETLINK, NLM_F_REQUEST, 1, 0}, {.ifi_index = 1}};
  const int most = 1 << 20;
  for (int i = 0; i < files; ++i) {
    const int one = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
    setsockopt(one, SOL_SOCKET, SO_RCVBUF, &most, sizeof most);
    for (int times = 0; times < 200; ++times) {
      if (send(one, &question, sizeof question, MSG_DONTWAIT) < 0) break;
    }
  }
}

int main(int count, char** words) {
  pid_t all[children];
  for (int i = 0; i < children; ++i) {
    all[i] = fork();
    if (all[i] != 0) continue;
    alarm(seconds);
    switch (count > 1 ? words[1][0] : 'c') {
      case 'c':
        fill_connections();
        break;
      case 'm':
        fill_with_messages();
        break;
      default:
        fill_with_answers();
    }
    for (;;) pause();
  }
  int ended = 0, status = 0;
  while (ended < enough && wait(&status) > 0)
    ended += WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
  for (int i = 0; i < children; ++i) kill(all[i], SIGKILL);
  must_fail("buffers", ended < enough ? 0 : -1);
  return verdict();
}
