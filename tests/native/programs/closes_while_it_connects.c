// SPDX-License-Identifier: Apache-2.0
// A connected socket with something to send that nobody reads, and whose close waits for that: closed
// by one thread while another one connects it, so that whoever looks at that may have it last.
#include <arpa/inet.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/socket.h>

#include "attack.h"

enum { times = 2000, most_delay = 150000 };

static volatile int begins;
static int delay;
static struct sockaddr_in name = {.sin_family = AF_INET};

static void* close_it(void* socket) {
  while (!begins) continue;
  for (volatile int i = 0; i < delay; ++i) continue;
  close((int)(long)socket);
  return 0;
}

// Of the two, this one may have it last as well, and waits then.
static void* connect_it(void* socket) {
  begins = 1;
  connect((int)(long)socket, (struct sockaddr*)&name, sizeof name);
  return 0;
}

int main(void) {
  static char bytes[1 << 20];
  name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  struct sockaddr_in nobody = name;
  nobody.sin_port = htons(1);
  socklen_t size = sizeof name;
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  bind(listener, (struct sockaddr*)&name, size);
  listen(listener, 16);
  getsockname(listener, (struct sockaddr*)&name, &size);
  for (int i = 0; i < times; ++i) {
    const int one = socket(AF_INET, SOCK_STREAM, 0);
    connect(one, (struct sockaddr*)&name, size);
    const int other = accept(listener, 0, 0);
    fcntl(one, F_SETFL, O_NONBLOCK);
    while (write(one, bytes, sizeof bytes) > 0) continue;
    const struct linger patience = {1, 30000};
    setsockopt(one, SOL_SOCKET, SO_LINGER, &patience, sizeof patience);
    // From here on no number is given a second time.
    const int asks = socket(AF_INET, SOCK_STREAM, 0);
    begins = 0;
    delay = i * 997 % most_delay;
    pthread_t closer, connector;
    pthread_create(&closer, 0, close_it, (void*)(long)one);
    usleep(50);
    pthread_create(&connector, 0, connect_it, (void*)(long)one);
    usleep(100);
    // Answered, unless who answers waits.
    connect(asks, (struct sockaddr*)&nobody, sizeof nobody);
    close(asks);
    close(other);
    pthread_join(closer, 0);
    pthread_join(connector, 0);
  }
  puts("done");
  return 0;
}
