// SPDX-License-Identifier: Apache-2.0
// Fills its memory with a word and ends; those after it look for it in all of theirs.
// limits: memory=256M
// ends: exited 0
#include <spawn.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>

extern char** environ;

static volatile uint64_t room[1 << 15];

// Never as a constant: no page has it from the start.
static uint64_t word(void) {
  static volatile uint64_t half = 0x0123456789abcdef;
  return half * 0x9e3779b97f4a7c15;
}

static int fill(void) {
  for (int i = 0; i < 1 << 15; ++i) room[i] = word();
  volatile uint64_t stack[1 << 13];
  for (int i = 0; i < 1 << 13; ++i) stack[i] = word();
  for (int size = 1 << 10; size <= 8 << 20; size *= 2) {
    volatile uint64_t* heap = malloc(size);
    if (heap == NULL) return 3;
    for (int i = 0; i < size / 8; ++i) heap[i] = word();
  }
  return stack[1] == word() ? 0 : 4;
}

static int look(void) {
  const uint32_t end = __builtin_wasm_memory_size(0) * 65536;
  for (uint32_t at = 8; at < end; at += 8) {
    if (*(const volatile uint64_t*)at == word()) return 5;
  }
  return 0;
}

static int run(char* name, char* what) {
  pid_t child = 0;
  int status = 0;
  char* arguments[] = {name, what, NULL};
  if (posix_spawn(&child, name, NULL, NULL, arguments, environ) != 0) return 6;
  if (waitpid(child, &status, 0) != child) return 7;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 8;
}

int main(int argc, char** argv) {
  if (argc > 1) return argv[1][0] == 'f' ? fill() : look();
  for (int i = 0; i < 10; ++i) {
    int end = run(argv[0], "fill");
    if (end == 0) end = run(argv[0], "look");
    if (end != 0) return end;
  }
  return 0;
}
