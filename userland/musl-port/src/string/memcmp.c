#include <string.h>
#include "../simd.h"

int memcmp(const void *left, const void *right, size_t n)
{
  const unsigned char *l = left, *r = right;
  for (; n >= BLOCK; n -= BLOCK, l += BLOCK, r += BLOCK) {
    unsigned same = matches(load(l), load(r));
    if (same != 0xffff) {
      int at = __builtin_ctz(~same);
      return l[at] - r[at];
    }
  }
  for (; n; n--, l++, r++)
    if (*l != *r) return *l - *r;
  return 0;
}
