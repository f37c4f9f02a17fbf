#include <string.h>
#include "../simd.h"

char *__strchrnul(const char *s, int c)
{
  const block_t wanted = splat(c), nul = splat(0);
  const char *block = s - offset_in_block(s);
  block_t here = load(block);
  unsigned found = (matches(here, wanted) | matches(here, nul)) & (-1U << offset_in_block(s));
  while (!found) {
    here = load(block += BLOCK);
    found = matches(here, wanted) | matches(here, nul);
  }
  return (char *)block + __builtin_ctz(found);
}

extern __typeof(__strchrnul) strchrnul __attribute__((__weak__, __alias__("__strchrnul")));
