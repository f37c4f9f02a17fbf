// SPDX-License-Identifier: Apache-2.0
// bin/cloche of the Python wheel. It starts the program by the dynamic loader, and with the C
// library, that lie in lib/ beside bin/: so the wheel asks nothing of the machine but its kernel.
// Linked statically.
//
//   bin/cloche      this
//   lib/cloche      the loader, under the name that people look for in a list of processes; as
//                   /proc/self/exe it has the program find the system where bin/cloche would
//   lib/program     the program
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int fail(const char* what) {
  fprintf(stderr, "cloche: cannot start %s: %s\n", what, strerror(errno));
  return 2;
}

int main(int argc, char** argv) {
  char self[PATH_MAX];
  const ssize_t size = readlink("/proc/self/exe", self, sizeof(self) - 1);
  if (size <= 0) return fail("itself, without /proc");
  self[size] = '\0';
  for (int parts = 0; parts < 2; ++parts) {
    char* slash = strrchr(self, '/');
    if (slash == NULL) return fail(self);
    *slash = '\0';
  }
  char libraries[PATH_MAX + 8], loader[PATH_MAX + 16], program[PATH_MAX + 16];
  snprintf(libraries, sizeof(libraries), "%s/lib", self);
  snprintf(loader, sizeof(loader), "%s/cloche", libraries);
  snprintf(program, sizeof(program), "%s/program", libraries);

  char* name = argc > 0 ? argv[0] : loader;
  char** words = calloc((size_t)argc + 9, sizeof(*words));
  if (words == NULL) return fail(program);
  int count = 0;
  words[count++] = name;
  // The machine's own list of libraries is for its own C library.
  words[count++] = "--inhibit-cache";
  words[count++] = "--library-path";
  words[count++] = libraries;
  words[count++] = "--argv0";
  words[count++] = name;
  words[count++] = program;
  for (int i = 1; i < argc; ++i) words[count++] = argv[i];
  execv(loader, words);
  return fail(loader);
}
