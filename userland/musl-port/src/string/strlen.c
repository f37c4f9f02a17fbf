#include <string.h>
#include "../simd.h"

size_t strlen(const char *s)
{
  const block_t nul = splat(0);
  const char *block = s - offset_in_block(s);
  unsigned found = matches(load(block), nul) & (-1U << offset_in_block(s));
  while (!found) found = matches(load(block += BLOCK), nul);
  return block + __builtin_ctz(found) - s;
}
