#include <string.h>
#include "../simd.h"

typedef uint64_t loose_8_t __attribute__((__may_alias__, __aligned__(1)));

static int difference_in_block(const unsigned char *l, const unsigned char *r)
{
  unsigned same = matches(load(l), load(r));
  if (same == 0xffff) return 0;
  int at = __builtin_ctz(~same);
  return l[at] - r[at];
}

static int difference_in_8(const unsigned char *l, const unsigned char *r)
{
  uint64_t left = __builtin_bswap64(*(const loose_8_t *)l), right = __builtin_bswap64(*(const loose_8_t *)r);
  return (left > right) - (left < right);
}

int memcmp(const void *left, const void *right, size_t n)
{
  const unsigned char *l = left, *r = right;
  // What is left over at the end is looked at together with bytes before it that are known to be the same.
  if (n >= BLOCK) {
    for (size_t at = 0; at <= n - BLOCK; at += BLOCK) {
      int difference = difference_in_block(l + at, r + at);
      if (difference) return difference;
    }
    return difference_in_block(l + n - BLOCK, r + n - BLOCK);
  }
  if (n >= 8) {
    int difference = difference_in_8(l, r);
    return difference ? difference : difference_in_8(l + n - 8, r + n - 8);
  }
  for (; n; n--, l++, r++)
    if (*l != *r) return *l - *r;
  return 0;
}
