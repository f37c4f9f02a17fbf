// SPDX-License-Identifier: Apache-2.0
// Buffers of sockets larger than most machines give: few sockets would keep gigabytes of the kernel's
// memory. Asked for in every way that there is, also while another thread changes what is asked for.
#include <pthread.h>
#include <sys/socket.h>

#include "attack.h"

enum { usual = 212992, tries = 3000 };

static volatile int size, is_over;

static void* change(void* nothing) {
  while (!is_over) size = size == 4096 ? 1 << 30 : 4096;
  return nothing;
}

static int has(int file, int name) {
  int value = 0;
  socklen_t length = sizeof value;
  return getsockopt(file, SOL_SOCKET, name, &value, &length) == 0 ? value : -1;
}

static void expect_usual(const char* how, int file, int name) {
  must_fail(how, has(file, name) > 2 * usual ? 0 : -1);
}

static void ask(int file, int name) {
  const int large = 1 << 30, negative = -1;
  setsockopt(file, SOL_SOCKET, name, &large, sizeof large);
  expect_usual("a large one", file, name);
  setsockopt(file, SOL_SOCKET, name, &negative, sizeof negative);
  expect_usual("a negative one", file, name);
  for (int length = 0; length < 256; ++length) {
    char bytes[256] = {0, 0, 0, 64};
    setsockopt(file, SOL_SOCKET, name, bytes, length);
  }
  expect_usual("of any length", file, name);
  for (int bit = 32; bit < 64; ++bit) {
    const long beyond = 1L << bit;
    syscall(SYS_setsockopt, file | beyond, SOL_SOCKET | beyond, name | beyond, &large,
            sizeof large | beyond, beyond);
  }
  expect_usual("numbers with more bits", file, name);
  for (int i = 0; i < tries; ++i) {
    setsockopt(file, SOL_SOCKET, name, (const void*)&size, sizeof size);
    if (has(file, name) > 2 * usual) return must_fail("changed meanwhile", 0);
  }
  const int small = 8192;
  must_fail("a small one", setsockopt(file, SOL_SOCKET, name, &small, sizeof small) == 0 &&
                                   has(file, name) == 2 * small
                               ? -1
                               : 0);
  must_fail("of nothing", setsockopt(file, SOL_SOCKET, name, NULL, sizeof small));
  must_fail("too short", setsockopt(file, SOL_SOCKET, name, &small, 2));
  must_fail("of no file", setsockopt(-1, SOL_SOCKET, name, &small, sizeof small));
  must_fail("of no socket", setsockopt(1, SOL_SOCKET, name, &small, sizeof small));
}

int main(void) {
  static const int kinds[][2] = {{AF_UNIX, SOCK_STREAM},
                                 {AF_UNIX, SOCK_DGRAM},
                                 {AF_INET, SOCK_STREAM},
                                 {AF_INET6, SOCK_DGRAM},
                                 {AF_NETLINK, SOCK_RAW}};
  pthread_t changes;
  pthread_create(&changes, NULL, change, NULL);
  for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; ++i) {
    const int file = socket(kinds[i][0], kinds[i][1], 0);
    ask(file, SO_SNDBUF);
    ask(file, SO_RCVBUF);
    close(file);
  }
  is_over = 1;
  pthread_join(changes, NULL);
  return verdict();
}
