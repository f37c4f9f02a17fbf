// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <unistd.h>

int main(int argc, char** argv) {
  char folder[256];
  if (argc < 2) {
    fprintf(stderr, "usage: greet NAME\n");
    return 2;
  }
  printf("Hello, %s, in %s\n", argv[1], getcwd(folder, sizeof folder));
  return 0;
}
