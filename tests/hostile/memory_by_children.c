// SPDX-License-Identifier: Apache-2.0
// Children hold 16 MiB each: together no more than the sandbox may have.
// limits: memory=128M processes=64
// ends: exited 0
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

void* volatile held;

static int child(void) {
  char* memory = malloc(16 << 20);
  if (memory == NULL) return 1;
  held = memset(memory, 1, 16 << 20);
  (void)!write(1, "+", 1);
  for (;;) pause();
}

int main(int argc, char** argv) {
  if (argc > 1) return child();
  int ends[2], holding = 0;
  pid_t children[32];
  if (pipe(ends) != 0) return 2;
  for (int i = 0; i < 32; ++i) {
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    posix_spawn_file_actions_addclose(&actions, ends[0]);
    posix_spawn_file_actions_addclose(&actions, ends[1]);
    char* arguments[] = {argv[0], "child", NULL};
    children[i] = 0;
    if (posix_spawn(&children[i], argv[0], &actions, NULL, arguments, environ) != 0)
      children[i] = 0;
    posix_spawn_file_actions_destroy(&actions);
  }
  close(ends[1]);
  // A child says "+", or ends; what is said is counted once all of them have done one of the two.
  char said[32];
  int ended = 0;
  while (holding + ended < 32) {
    int status;
    while (waitpid(-1, &status, WNOHANG) > 0) ++ended;
    if (ended == 0 && children[0] == 0) return 4;
    int missing = 0;
    for (int i = 0; i < 32; ++i) missing += children[i] == 0;
    if (holding + ended + missing >= 32) break;
    const ssize_t count = read(ends[0], said, sizeof said);
    if (count > 0) holding += (int)count;
    if (count == 0) break;
    if (holding * 16 > 128) break;
  }
  for (int i = 0; i < 32; ++i) {
    if (children[i] > 0) kill(children[i], SIGKILL);
  }
  return holding > 0 && holding * 16 <= 128 ? 0 : 3;
}
