// SPDX-License-Identifier: Apache-2.0
// Well-behaved: has so many MB, and a child that has them too until it becomes its program, as vfork
// and posix_spawn make one.
#include <sys/wait.h>

#include "attack.h"

int main(int argc, char** argv) {
  if (argc < 2) return 0;
  const size_t bytes = (size_t)atoi(argv[1]) << 20;
  char* memory = malloc(bytes);
  memset(memory, 1, bytes);
  if (vfork() == 0) {
    usleep(300 * 1000);
    execl(argv[0], argv[0], (char*)0);
    _exit(1);
  }
  int status = 0;
  wait(&status);
  puts(status == 0 && memory[bytes - 1] == 1 ? "done" : "the child was ended");
  return 0;
}
