// SPDX-License-Identifier: Apache-2.0
// A call of a command of the host, made by hand: heads that lie, replies to nothing, more calls than
// there may be. calls_the_host_by_hand COMMAND
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "attack.h"

struct head {
  unsigned version, arguments, variables, bytes;
};
struct ask {
  unsigned order, stream, number;
};

static int dial(void) {
  const char name[] = "cloche-host-commands";
  struct sockaddr_un to = {.sun_family = AF_UNIX};
  memcpy(to.sun_path + 1, name, sizeof name - 1);
  int line = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  socklen_t size = offsetof(struct sockaddr_un, sun_path) + sizeof name;
  if (connect(line, (struct sockaddr*)&to, size) == 0) return line;
  close(line);
  return -1;
}

// Whether the host closes the line, whatever it says before.
static int is_closed(int line) {
  char byte[4096];
  long got;
  while ((got = read(line, byte, sizeof byte)) > 0) continue;
  close(line);
  return 1;
}

static int begin(const char* command) {
  int line = dial();
  char text[256];
  int bytes = snprintf(text, sizeof text, "/%chost-command%c%s%cfile%c", 0, 0, command, 0, 0);
  struct head head = {1, 3, 0, (unsigned)bytes};
  send(line, &head, sizeof head, MSG_NOSIGNAL);
  send(line, text, (size_t)bytes, MSG_NOSIGNAL);
  return line;
}

static void lie(struct head head, const char* text, size_t size) {
  int line = dial();
  if (line < 0) return;
  send(line, &head, sizeof head, MSG_NOSIGNAL);
  send(line, text, size, MSG_NOSIGNAL);
  shutdown(line, SHUT_WR);
  is_closed(line);
}

// The command reads: so many bytes are announced, and they come without an end.
static void answer_wrongly(const char* command, int value) {
  int line = begin(command);
  struct ask ask;
  if (recv(line, &ask, sizeof ask, MSG_WAITALL) != sizeof ask) must_fail("no question", 0);
  char junk[4096] = {0};
  send(line, &value, sizeof value, MSG_NOSIGNAL);
  for (int i = 0; i < 100; ++i) {
    if (send(line, junk, sizeof junk, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) break;
  }
  shutdown(line, SHUT_WR);
  is_closed(line);
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  lie((struct head){2, 1, 0, 4}, "/\0a", 4);
  lie((struct head){1, 1, 0, 0xffffffff}, "/\0a", 4);
  lie((struct head){1, 0xffffffff, 0xffffffff, 4}, "/\0a", 4);
  lie((struct head){1, 1, 1, 4}, "/\0a", 4);
  lie((struct head){1, 1, 0, 4}, "/abc", 4);
  lie((struct head){1, 0, 0, 0}, "", 0);
  lie((struct head){1, 1, 0, 1 << 20}, "/", 1);
  const int wrong[] = {0x7fffffff, -0x7fffffff, 70000, -5000, -1};
  for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; ++i) answer_wrongly(argv[1], wrong[i]);
  // Many that say nothing: those that have no place stand in line, and block nobody but this box.
  enum { many = 400 };
  int lines[many];
  for (int i = 0; i < many; ++i) {
    lines[i] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    memcpy(to.sun_path + 1, "cloche-host-commands", 20);
    connect(lines[i], (struct sockaddr*)&to, offsetof(struct sockaddr_un, sun_path) + 21);
    send(lines[i], "x", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
  }
  for (int i = 0; i < many; ++i) close(lines[i]);
  return verdict();
}
