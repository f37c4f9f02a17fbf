// SPDX-License-Identifier: Apache-2.0
// Becomes itself again and again.
// limits: time=300
// ends: timed_out
#include <unistd.h>

int main(int argc, char** argv) {
  (void)argc;
  char* arguments[] = {argv[0], 0};
  execv(argv[0], arguments);
  return 2;
}
