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
static int ends[2];

// A child's end is told where what it says is told: nothing is waited for that does not come.
static void tell_of_an_end(int signal) {
  (void)signal;
  (void)!write(ends[1], "e", 1);
}

static int child(void) {
  char* memory = malloc(16 << 20);
  if (memory == NULL) return 1;
  held = memset(memory, 1, 16 << 20);
  (void)!write(1, "+", 1);
  for (;;) pause();
}

int main(int argc, char** argv) {
  if (argc > 1) return child();
  int holding = 0, started = 0, ended = 0;
  pid_t children[32];
  if (pipe(ends) != 0) return 2;
  const struct sigaction action = {.sa_handler = tell_of_an_end, .sa_flags = SA_RESTART};
  if (sigaction(SIGCHLD, &action, NULL) != 0) return 2;
  for (int i = 0; i < 32; ++i) {
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    posix_spawn_file_actions_addclose(&actions, ends[0]);
    posix_spawn_file_actions_addclose(&actions, ends[1]);
    char* arguments[] = {argv[0], "child", NULL};
    if (posix_spawn(&children[started], argv[0], &actions, NULL, arguments, environ) == 0)
      ++started;
    posix_spawn_file_actions_destroy(&actions);
  }
  if (started == 0) return 4;
  // Each child says "+", or ends.
  while (holding + ended < started && holding * 16 <= 128) {
    char said[64];
    const ssize_t count = read(ends[0], said, sizeof said);
    if (count <= 0) return 5;
    for (ssize_t i = 0; i < count; ++i) holding += said[i] == '+';
    while (waitpid(-1, NULL, WNOHANG) > 0) ++ended;
  }
  for (int i = 0; i < started; ++i) kill(children[i], SIGKILL);
  return holding > 0 && holding * 16 <= 128 ? 0 : 3;
}
