// SPDX-License-Identifier: Apache-2.0
// Memory that is not of one process: System V's, /dev/shm, shared mappings. The memory limit ends it.
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>

int main(int argc, char** argv) {
  const size_t size = 16 << 20;
  for (int i = 0; i < 64; ++i) {
    char* piece;
    if (argc > 1 && strcmp(argv[1], "sysv") == 0) {
      piece = shmat(shmget(IPC_PRIVATE, size, IPC_CREAT | 0600), 0, 0);
    } else {
      piece = mmap(0, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    }
    if (piece == (char*)-1) return 2;
    memset(piece, 1, size);
  }
  return 0;
}
