// SPDX-License-Identifier: Apache-2.0
// Takes memory with malloc and writes into it until there is no more.
// limits: memory=96M
// ends: exited 0
#include <stdlib.h>
#include <string.h>

// Where the compiler does not see it, so that no piece is left out.
void* volatile last;

int main(void) {
  const size_t piece = 1 << 20;
  for (int pieces = 0; pieces < 4096; ++pieces) {
    void* memory = malloc(piece);
    if (memory == NULL) return pieces < 96 ? 0 : 2;
    last = memset(memory, 1, piece);
  }
  return 3;
}
