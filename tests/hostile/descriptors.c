// SPDX-License-Identifier: Apache-2.0
// Opens files and closes none.
// limits: descriptors=64
// ends: exited 0
#include <errno.h>
#include <fcntl.h>

int main(void) {
  for (int count = 0; count < 1000; ++count) {
    if (open("/dev/null", O_RDONLY) < 0) return errno == EMFILE && count <= 64 ? 0 : 2;
  }
  return 3;
}
