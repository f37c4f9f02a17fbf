// SPDX-License-Identifier: Apache-2.0
// Maps memory that it never gives back.
// limits: memory=96M
// ends: exited 0
#include <errno.h>
#include <sys/mman.h>

int main(void) {
  for (int pieces = 0; pieces < 4096; ++pieces) {
    char* memory = mmap(0, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return errno == ENOMEM && pieces < 96 ? 0 : 2;
    memory[0] = 1;
  }
  return 3;
}
