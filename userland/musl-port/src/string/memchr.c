#include <string.h>
#include "../simd.h"

void *memchr(const void *src, int c, size_t n)
{
  if (!n) return 0;
  const unsigned char *s = src;
  const block_t wanted = splat(c);
  size_t before = offset_in_block(s);
  const unsigned char *block = s - before;
  // Bytes from the block's start to the end of what is searched; an overflow means all of the memory.
  size_t left = n + before < n ? (size_t)-1 : n + before;
  unsigned found = matches(load(block), wanted) & (-1U << before);
  while (!found) {
    if (left <= BLOCK) return 0;
    left -= BLOCK;
    block += BLOCK;
    found = matches(load(block), wanted);
  }
  size_t at = __builtin_ctz(found);
  return at < left ? (void *)(block + at) : 0;
}
