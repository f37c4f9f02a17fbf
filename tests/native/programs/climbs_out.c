// SPDX-License-Identifier: Apache-2.0
// Out of the root: by dots, by what is open, by links, by another process's folders.
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "attack.h"

int main(void) {
  struct stat root, up;
  stat("/", &root);
  for (int i = 0; i < 100; ++i) chdir("..");
  stat(".", &up);
  must_fail("dots", root.st_ino == up.st_ino && root.st_dev == up.st_dev ? -1 : 0);
  DIR* open_files = opendir("/proc/self/fd");
  for (struct dirent* entry; (entry = readdir(open_files));) {
    int fd = atoi(entry->d_name);
    if (entry->d_name[0] != '.' && fd > 2 && fd != dirfd(open_files))
      must_fail("a descriptor that was left open", 0);
  }
  char line[4096];
  FILE* mounts = fopen("/proc/self/mountinfo", "r");
  while (fgets(line, sizeof line, mounts))
    if (strstr(line, "lowerdir=/") && !strstr(line, "lowerdir=/proc/self/fd"))
      must_fail("a path of the host in mountinfo", 0);
  must_fail("escape from pid namespace", access("/proc/self/root/../../../host", F_OK));
  must_fail("sysfs", access("/sys/kernel", F_OK));
  return verdict();
}
