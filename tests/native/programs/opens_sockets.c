// SPDX-License-Identifier: Apache-2.0
// Sockets of other kinds than programs use, and ways to the host's network.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "attack.h"

static long reach(const char* address, int port) {
  int s = socket(AF_INET, SOCK_STREAM, 0);
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((unsigned short)port)};
  inet_pton(AF_INET, address, &to.sin_addr);
  return connect(s, (struct sockaddr*)&to, sizeof to);
}

static long send_to(const char* address) {
  int s = socket(AF_INET, SOCK_DGRAM, 0);
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(53)};
  inet_pton(AF_INET, address, &to.sin_addr);
  return sendto(s, "x", 1, 0, (struct sockaddr*)&to, sizeof to);
}

int main(int argc, char** argv) {
  int families[] = {AF_PACKET, 15, 16 + 5, 26, 28, 29, 30, 31, 32, 37, 38, 40, 41, 42, 43, 44};
  for (unsigned i = 0; i < sizeof families / sizeof *families; ++i)
    if (families[i] != AF_NETLINK) must_fail("a family", socket(families[i], SOCK_DGRAM, 0));
  for (int protocol = 1; protocol < 23; ++protocol)
    must_fail("netlink", socket(AF_NETLINK, SOCK_RAW, protocol));
  must_fail("raw", socket(AF_INET, SOCK_RAW, 1));
  must_fail("SCTP", socket(AF_INET, SOCK_STREAM, 132));
  must_fail("MPTCP", socket(AF_INET, SOCK_STREAM, 262));
  must_fail("an address", reach("192.0.2.1", 80));
  must_fail("metadata", reach("169.254.169.254", 80));
  must_fail("a datagram", send_to("192.0.2.1"));
  if (argc > 1) must_fail("the host's loopback", reach("127.0.0.1", atoi(argv[1])));
  // What is listened to on the host by an abstract name.
  if (argc > 2) {
    int s = socket(AF_UNIX, SOCK_STREAM, 0);
    struct sockaddr name = {.sa_family = AF_UNIX};
    strncpy(name.sa_data + 1, argv[2], sizeof name.sa_data - 2);
    must_fail("the host's abstract socket",
              connect(s, &name, (socklen_t)(sizeof name.sa_family + 1 + strlen(argv[2]))));
  }
  return verdict();
}
