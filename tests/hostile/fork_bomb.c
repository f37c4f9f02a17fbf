// SPDX-License-Identifier: Apache-2.0
// Every process starts two more, for ever.
// limits: processes=24 time=400
// ends: timed_out
#include <spawn.h>
#include <stddef.h>

extern char** environ;

int main(int argc, char** argv) {
  (void)argc;
  for (;;) {
    char* arguments[] = {argv[0], NULL};
    posix_spawn(NULL, argv[0], NULL, NULL, arguments, environ);
  }
}
