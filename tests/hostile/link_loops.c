// SPDX-License-Identifier: Apache-2.0
// Symbolic links that lead to themselves, and chains of them.
// ends: exited 0
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

int main(void) {
  if (symlink("/tmp/loop", "/tmp/loop") != 0) return 2;
  if (open("/tmp/loop", O_RDONLY) >= 0 || errno != ELOOP) return 3;
  for (int i = 0; i < 100; ++i) {
    char from[32], to[32];
    snprintf(from, sizeof from, "/tmp/l%d", i);
    snprintf(to, sizeof to, "/tmp/l%d", i + 1);
    if (symlink(to, from) != 0) return 4;
  }
  return open("/tmp/l0", O_RDONLY) < 0 && errno == ELOOP ? 0 : 5;
}
