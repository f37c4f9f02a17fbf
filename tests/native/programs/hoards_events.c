// SPDX-License-Identifier: Apache-2.0
// Events of inotify that nobody reads, as many as the kernel keeps of each instance, with names as long
// as there are. Who has them is ended, and not who waits.
#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/stat.h>

#include "attack.h"

enum { instances = 60, changes = 6000, longest = 255, seconds = 20 };

static void hoard(void) {
  char name[longest + 1];
  memset(name, 'a', longest);
  name[longest] = '\0';
  mkdir("/tmp/watched", 0700);
  chdir("/tmp/watched");
  for (int i = 0; i < instances; ++i)
    inotify_add_watch(inotify_init1(IN_NONBLOCK), ".", IN_CREATE | IN_DELETE | IN_OPEN | IN_CLOSE);
  for (int i = 0; i < changes; ++i) {
    name[0] = 'a' + i % 2;  // the same again would be one event
    close(open(name, O_CREAT | O_RDWR, 0600));
    unlink(name);
  }
}

int main(void) {
  expect_end_of_hoard("events", hoard, seconds);
  return verdict();
}
