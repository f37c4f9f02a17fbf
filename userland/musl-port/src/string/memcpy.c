#include <string.h>
#include "../simd.h"

// From here on the engine's own copy is worth the call of it.
#define LARGE 1024

typedef uint64_t loose_8_t __attribute__((__may_alias__, __aligned__(1)));
typedef uint32_t loose_4_t __attribute__((__may_alias__, __aligned__(1)));

void *memcpy(void *restrict dest, const void *restrict src, size_t n)
{
  unsigned char *d = dest;
  const unsigned char *s = src;
  if (n >= LARGE) return __builtin_memcpy(dest, src, n);
  if (n >= BLOCK) {
    // The last block lies over the one before it where n is no multiple.
    block_t last = load(s + n - BLOCK);
    for (size_t at = 0; at < n - BLOCK; at += BLOCK) *(loose_block_t *)(d + at) = load(s + at);
    *(loose_block_t *)(d + n - BLOCK) = last;
  } else if (n >= 8) {
    uint64_t first = *(const loose_8_t *)s, last = *(const loose_8_t *)(s + n - 8);
    *(loose_8_t *)d = first;
    *(loose_8_t *)(d + n - 8) = last;
  } else if (n >= 4) {
    uint32_t first = *(const loose_4_t *)s, last = *(const loose_4_t *)(s + n - 4);
    *(loose_4_t *)d = first;
    *(loose_4_t *)(d + n - 4) = last;
  } else {
    while (n--) *d++ = *s++;
  }
  return dest;
}
