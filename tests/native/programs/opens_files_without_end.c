// SPDX-License-Identifier: Apache-2.0
// Descriptors and terminals up to their limits.
#include <fcntl.h>

#include "attack.h"

int main(void) {
  int files = 0, terminals = 0;
  while (terminals < 10000 && open("/dev/ptmx", O_RDWR | O_NOCTTY) >= 0) ++terminals;
  while (files < 100000 && open("/dev/null", O_RDONLY) >= 0) ++files;
  if (terminals > 64) must_fail("terminals", 0);
  if (files + terminals > 1024) must_fail("descriptors", 0);
  return verdict();
}
