// SPDX-License-Identifier: Apache-2.0
// ends_its_first_thread MIB: the first thread ends, and another one goes on: it takes so much memory
// and then writes to a file again and again.
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>

#include "attack.h"

static size_t memory;

static void* go_on(void* nothing) {
  (void)nothing;
  usleep(100000);  // the first one is gone
  const size_t piece = 16 << 20;
  for (size_t taken = 0; taken < memory; taken += piece) {
    char* more = mmap(NULL, piece, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (more == MAP_FAILED) break;
    memset(more, 1, piece);
    usleep(5000);
  }
  for (long beat = 0; beat < 6000; ++beat) {
    int file = open("/workspace/beat", O_WRONLY | O_CREAT | O_TRUNC, 0644);
    dprintf(file, "%ld\n", beat);
    close(file);
    usleep(10000);
  }
  _exit(0);
}

int main(int count, char** words) {
  memory = (size_t)(count > 1 ? atoi(words[1]) : 0) << 20;
  pthread_t other;
  if (pthread_create(&other, NULL, go_on, NULL) != 0) return 1;
  syscall(SYS_exit, 0);
}
