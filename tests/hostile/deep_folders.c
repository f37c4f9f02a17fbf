// SPDX-License-Identifier: Apache-2.0
// A folder in a folder in a folder.
// limits: inodes=5000
// ends: exited 0
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

int main(void) {
  if (chdir("/tmp") != 0) return 2;
  for (int depth = 0; depth < 100000; ++depth) {
    if (mkdir("a-folder-with-a-name", 0700) != 0 || chdir("a-folder-with-a-name") != 0)
      return errno == ENOSPC || errno == EDQUOT || errno == ENAMETOOLONG ? 0 : 3;
  }
  return 4;
}
