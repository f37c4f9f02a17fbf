// SPDX-License-Identifier: Apache-2.0
// Starts a program with more arguments than there may be.
// ends: exited 0
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char** argv) {
  (void)argc;
  enum { count = 64, bytes = 1 << 20 };
  static char* arguments[count + 1];
  char* text = malloc(bytes);
  if (text == NULL) return 2;
  memset(text, 'a', bytes - 1);
  text[bytes - 1] = '\0';
  for (int i = 0; i < count; ++i) arguments[i] = text;
  execv(argv[0], arguments);
  return errno == E2BIG ? 0 : 3;
}
