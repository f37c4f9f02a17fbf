// SPDX-License-Identifier: Apache-2.0
// What is about to become a command has come from pid 1: it is looked into while that lasts.
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>

#include "attack.h"

static void look_at(const char* pid) {
  char path[PATH_MAX], target[PATH_MAX];
  snprintf(path, sizeof path, "/proc/%s/exe", pid);
  ssize_t size = readlink(path, target, sizeof target - 1);
  if (size > 0) {
    target[size] = 0;
    if (strstr(target, "warden")) must_fail("the warden's program", open(path, O_RDONLY));
  }
  snprintf(path, sizeof path, "/proc/%s/maps", pid);
  int file = open(path, O_RDONLY);
  size = file < 0 ? 0 : read(file, target, sizeof target - 1);
  target[size > 0 ? size : 0] = 0;
  if (strstr(target, "warden")) must_fail("the warden's memory", 0);
  close(file);
}

int main(void) {
  puts("up");
  fflush(stdout);
  for (int rounds = 0; access("/workspace/enough", F_OK) != 0 && rounds < 1000000; ++rounds) {
    DIR* processes = opendir("/proc");
    for (struct dirent* entry; (entry = readdir(processes));)
      if (entry->d_name[0] >= '2' && entry->d_name[0] <= '9' && atoi(entry->d_name) != getpid())
        look_at(entry->d_name);
    closedir(processes);
  }
  return verdict();
}
