// SPDX-License-Identifier: Apache-2.0
// Open folders of the image to which many files were added: of each that was read the kernel keeps a list
// of all entries of its own, where something has changed since the one before. Or such folders on their way
// to a socket, which nobody has open; or to one that is on its way itself, of which nothing tells what it
// has. Who has them is ended, and not who waits.
#include <fcntl.h>
#include <sys/socket.h>

#include "attack.h"
#include "send_away.h"

enum { files = 8000, length = 200, most = 300, some = 5, depth = 3, seconds = 30 };

static void fill(void) {
  char name[length + 1];
  memset(name, 'a', length);
  for (int i = 0; i < files; ++i) {
    snprintf(name + length - 8, 9, "%08d", i);
    close(open(name, O_CREAT | O_WRONLY, 0600));
  }
}

static int open_another(void) {
  static char entries[4096];
  const int folder = open(".", O_RDONLY | O_DIRECTORY);
  if (folder < 0 || syscall(SYS_getdents64, folder, entries, sizeof entries) <= 0) return -1;
  close(open("changed", O_CREAT | O_WRONLY, 0600));
  unlink("changed");
  return folder;
}

static void hoard(void) {
  for (int i = 0; i < most && open_another() >= 0; ++i) continue;
}

static void hoard_sent(void) {
  int ends[2] = {-1, -1};
  for (int i = 0; i < most; ++i) {
    const int folder = open_another();
    while (!send_away(ends[0], folder)) {  // it is full: another one
      close(ends[0]);
      if (socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) != 0) return;
    }
  }
}

// A socket with a few on their way to it; or with such sockets.
static int hide(int depth) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) != 0) return -1;
  for (int i = 0; i < some; ++i) {
    if (!send_away(ends[0], depth == 1 ? open_another() : hide(depth - 1))) return -1;
  }
  close(ends[0]);
  return ends[1];
}

static void hoard_sent_on(void) {
  for (int i = 0; i < most && hide(depth) >= 0; i += some * some * some) continue;
}

int main(int count, char** words) {
  if (chdir("/tmp") != 0) return 1;
  fill();
  void (*const act)(void) = count == 1                      ? hoard
                            : strcmp(words[1], "sent") == 0 ? hoard_sent
                                                            : hoard_sent_on;
  expect_end_of_hoard("folders", act, seconds);
  return verdict();
}
