// SPDX-License-Identifier: Apache-2.0
// Watchers of files, of which all boxes of a user have some together: as many as there are, until its input
// is closed; or, with a word, one.
#include <sys/inotify.h>

#include "attack.h"

int main(int count, char** words) {
  (void)words;
  if (count > 1) {
    must_fail("a watcher", inotify_init() >= 0 ? -1 : 0);
    return verdict();
  }
  int all = 0;
  while (inotify_init() >= 0) ++all;
  puts(all >= 8 ? "some" : "none");
  fflush(stdout);
  pause();
}
