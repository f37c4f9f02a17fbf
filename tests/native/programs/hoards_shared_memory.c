// SPDX-License-Identifier: Apache-2.0
// Memory that is shared without a file, and that no process shows as its own: given back after it was
// written, held by a child that never looked at it, under a name, as if it were code, by one page
// that is left of each piece, of a device. The memory limit ends it.
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "attack.h"

enum { piece_bytes = 16 << 20, pieces = 40 };

static char* make(void) {
  char* piece = mmap(0, piece_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (piece == MAP_FAILED) exit(2);
  return piece;
}

// A process that has it, and whose parent gives it back.
static void let_child_hold(char* piece) {
  if (fork() == 0)
    for (;;) pause();
  memset(piece, 1, piece_bytes);
  munmap(piece, piece_bytes);
}

// Piece by piece, so that none is whole for long. What cannot be had is held.
static int leave_pages(int device) {
  enum { small_bytes = 1 << 20, page_bytes = 4096, all_bytes = 600 << 20 };
  const int flags = MAP_SHARED | (device < 0 ? MAP_ANONYMOUS : 0);
  for (int i = 0; i < all_bytes / small_bytes; ++i) {
    char* piece = mmap(0, small_bytes, PROT_READ | PROT_WRITE, flags, device, 0);
    if (piece == MAP_FAILED) raise(SIGKILL);
    madvise(piece, small_bytes, 23);  // MADV_POPULATE_WRITE
    munmap(piece + page_bytes, small_bytes - page_bytes);
  }
  sleep(20);
  puts("open: pages that are left");
  return 0;
}

int main(int argc, char** argv) {
  const char* how = argc > 1 ? argv[1] : "";
  if (strcmp(how, "pages") == 0) return leave_pages(-1);
  if (strcmp(how, "device") == 0) return leave_pages(open("/dev/zero", O_RDWR));
  for (int i = 0; i < pieces; ++i) {
    char* piece = make();
    if (strcmp(how, "child") == 0) {
      let_child_hold(piece);
      continue;
    }
    if (strcmp(how, "named") == 0)
      prctl(0x53564d41, 0, piece, piece_bytes, "usual");  // PR_SET_VMA_ANON_NAME
    memset(piece, 1, piece_bytes);
    if (strcmp(how, "code") == 0) mprotect(piece, piece_bytes, PROT_READ | PROT_EXEC);
    madvise(piece, piece_bytes, MADV_DONTNEED);
  }
  sleep(20);
  int ended = 0;
  for (int status = 0; waitpid(-1, &status, WNOHANG) > 0;)
    ended += WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
  if (ended == 0) printf("open: %s\n", how);
  fflush(stdout);
  signal(SIGTERM, SIG_IGN);
  kill(0, SIGTERM);
  while (wait(0) > 0) continue;
  return 0;
}
