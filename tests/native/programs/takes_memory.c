// SPDX-License-Identifier: Apache-2.0
// takes_memory MIB [NAME]: is called so, takes so much memory, and then writes to a file again and
// again.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "attack.h"

int main(int count, char** words) {
  if (count > 2) prctl(PR_SET_NAME, words[2], 0, 0, 0);
  const size_t memory = (size_t)(count > 1 ? atoi(words[1]) : 0) << 20;
  const size_t piece = 16 << 20;
  for (size_t taken = 0; taken < memory; taken += piece) {
    char* more = mmap(NULL, piece, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (more == MAP_FAILED) break;
    memset(more, 1, piece);
    usleep(5000);
  }
  const int beats = memory > 0 ? 200 : 6000;
  for (int beat = 0; beat < beats; ++beat) {
    int file = open("/workspace/beat", O_WRONLY | O_CREAT | O_TRUNC, 0644);
    dprintf(file, "%d\n", beat);
    close(file);
    usleep(10000);
  }
  return 0;
}
