// SPDX-License-Identifier: Apache-2.0
// Tries every way to a TCP server (its port is the first argument) that no rule allows, and to
// confuse who judges with one that is allowed (the second). Says "out" where one led to an address
// that is not allowed.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static in_port_t port, allowed;

static struct sockaddr_in v4(const char* address) {
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = port};
  inet_pton(AF_INET, address, &to.sin_addr);
  return to;
}

// What the server says to a request; 0: it is not to be had.
static int is_out(int fd) {
  char answer[16];
  struct timeval limit = {.tv_sec = 5};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  if (send(fd, "GET / HTTP/1.0\r\n\r\n", 18, MSG_NOSIGNAL) != 18) return 0;
  return recv(fd, answer, sizeof answer, 0) > 0;
}

static void judge(const char* trick, int fd) {
  if (is_out(fd)) printf("out by %s\n", trick);
  close(fd);
}

static void by_length(socklen_t length) {
  char room[256] = {0};
  const struct sockaddr_in to = v4("10.0.0.1");
  memcpy(room, &to, sizeof to);
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  if (syscall(SYS_connect, fd, room, length) == 0)
    judge("length", fd);
  else
    close(fd);
}

static void by_fast_open(void) {
  const struct sockaddr_in to = v4("10.0.0.1");
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  if (sendto(fd, "GET / HTTP/1.0\r\n\r\n", 18, MSG_FASTOPEN | MSG_NOSIGNAL,
             (const struct sockaddr*)&to, sizeof to) > 0)
    judge("fast open", fd);
  else
    close(fd);
  fd = socket(AF_INET, SOCK_STREAM, 0);
  struct iovec part = {"GET / HTTP/1.0\r\n\r\n", 18};
  struct msghdr message = {
      .msg_name = (void*)&to, .msg_namelen = sizeof to, .msg_iov = &part, .msg_iovlen = 1};
  if (sendmsg(fd, &message, MSG_FASTOPEN | MSG_NOSIGNAL) > 0)
    judge("fast open by message", fd);
  else
    close(fd);
  fd = socket(AF_INET, SOCK_STREAM, 0);
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_FASTOPEN_CONNECT, &on, sizeof on);
  if (connect(fd, (const struct sockaddr*)&to, sizeof to) == 0)
    judge("fast open at connect", fd);
  else
    close(fd);
}

// What is looked at is the one that is allowed, and a moment later it is the other.
static union {
  struct sockaddr_in name;
  _Atomic unsigned word[4];
} shared;
static _Atomic int racing;

static void* swap(void* unused) {
  shared.name = v4("127.0.0.1");
  const unsigned one = shared.word[0];
  shared.name.sin_port = allowed;
  const unsigned other = shared.word[0];
  while (racing) {
    shared.word[0] = one;
    shared.word[0] = other;
  }
  return unused;
}

static void by_race(void) {
  pthread_t thread;
  shared.name = v4("127.0.0.1");
  racing = 1;
  pthread_create(&thread, NULL, swap, NULL);
  for (int i = 0; i < 300; ++i) {
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    connect(fd, (struct sockaddr*)&shared.name, sizeof shared.name);
    close(fd);
  }
  racing = 0;
  pthread_join(thread, NULL);
}

static int raced;

static void* exchange(void* unused) {
  while (racing) {
    const int fresh = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    dup2(fresh, raced);
    close(fresh);
    fcntl(raced, F_SETFL, 0);
  }
  return unused;
}

static void by_exchange(void) {
  pthread_t thread;
  const struct sockaddr_in to = v4("10.0.0.1");
  raced = socket(AF_INET, SOCK_STREAM, 0);
  racing = 1;
  pthread_create(&thread, NULL, exchange, NULL);
  for (int i = 0; i < 300; ++i) {
    if (connect(raced, (const struct sockaddr*)&to, sizeof to) == 0 && is_out(raced))
      puts("out by exchange");
  }
  racing = 0;
  pthread_join(thread, NULL);
  close(raced);
}

// A socket that hears nothing, and blocks again whenever it is made not to.
static void* block(void* unused) {
  while (racing) fcntl(raced, F_SETFL, 0);
  return unused;
}

static void by_deafness(void) {
  const int from_next_door = 255;
  struct sockaddr_in to = v4("127.0.0.1");
  to.sin_port = allowed;
  for (int i = 0; i < 5; ++i) {
    pthread_t thread;
    raced = socket(AF_INET, SOCK_STREAM, 0);
    setsockopt(raced, IPPROTO_IP, IP_MINTTL, &from_next_door, sizeof from_next_door);
    racing = 1;
    pthread_create(&thread, NULL, block, NULL);
    if (connect(raced, (const struct sockaddr*)&to, sizeof to) == 0) puts("connected without ears");
    racing = 0;
    pthread_join(thread, NULL);
    close(raced);
  }
}

static void by_forks(void) {
  const struct sockaddr_in to = v4("10.0.0.1");
  for (int i = 0; i < 20; ++i) {
    const pid_t child = fork();
    if (child != 0) {
      if (i % 2) kill(child, SIGKILL);
      continue;
    }
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(fd, (const struct sockaddr*)&to, sizeof to) == 0) judge("fork", fd);
    _exit(0);
  }
  while (wait(NULL) > 0) continue;
}

static void by_v6(const char* address) {
  struct sockaddr_in6 to = {.sin6_family = AF_INET6, .sin6_port = port};
  inet_pton(AF_INET6, address, &to.sin6_addr);
  for (int scope = 0; scope < 2; ++scope) {
    to.sin6_scope_id = scope;
    const int fd = socket(AF_INET6, SOCK_STREAM, 0);
    if (connect(fd, (const struct sockaddr*)&to, sizeof to) == 0)
      judge(address, fd);
    else
      close(fd);
  }
}

static void by_datagram(void) {
  const struct sockaddr_in to = v4("10.0.0.1");
  const int fd = socket(AF_INET, SOCK_DGRAM, 0);
  if (sendto(fd, "x", 1, 0, (const struct sockaddr*)&to, sizeof to) == 1) puts("out by datagram");
  if (connect(fd, (const struct sockaddr*)&to, sizeof to) == 0) puts("out by datagram's connect");
  close(fd);
  const int ping = socket(AF_INET, SOCK_DGRAM, IPPROTO_ICMP);
  if (ping >= 0 &&
      sendto(ping, "\10\0\0\0\0\0\0\0", 8, 0, (const struct sockaddr*)&to, sizeof to) == 8)
    puts("out by ping");
}

static void by_bad_names(void) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  connect(fd, NULL, 16);
  connect(fd, (struct sockaddr*)1, 28);
  connect(fd, (struct sockaddr*)~0UL, 128);
  connect(-1, (struct sockaddr*)&(struct sockaddr_in){0}, 16);
  connect(1000000, (struct sockaddr*)&(struct sockaddr_in){.sin_family = AF_INET}, 16);
  struct sockaddr_un local = {.sun_family = AF_UNIX, .sun_path = "/nowhere"};
  connect(fd, (struct sockaddr*)&local, sizeof local);
  connect(fd, (struct sockaddr*)&local, 16);
  close(fd);
}

int main(int count, char** words) {
  if (count < 3) return 1;
  alarm(120);
  port = htons((in_port_t)atoi(words[1]));
  allowed = htons((in_port_t)atoi(words[2]));
  for (socklen_t length = 0; length < 140; ++length) by_length(length);
  by_fast_open();
  by_bad_names();
  by_race();
  by_exchange();
  by_deafness();
  by_forks();
  by_datagram();
  const char* const addresses[] = {"::1",
                                   "::ffff:127.0.0.1",
                                   "::ffff:10.0.0.1",
                                   "::127.0.0.1",
                                   "::",
                                   "64:ff9b::7f00:1",
                                   "2002:7f00:1::",
                                   "fe80::1",
                                   "::ffff:0.0.0.0"};
  for (size_t i = 0; i < sizeof addresses / sizeof *addresses; ++i) by_v6(addresses[i]);
  puts("done");
  return 0;
}
