#include <string.h>
#include "../simd.h"

void *__memrchr(const void *src, int c, size_t n)
{
  const unsigned char *s = src, *end = s + n;
  const block_t wanted = splat(c);
  while (end - s >= BLOCK) {
    unsigned found = matches(load(end - BLOCK), wanted);
    if (found) return (void *)(end - 1 - (__builtin_clz(found) - BLOCK));
    end -= BLOCK;
  }
  while (end != s)
    if (*--end == (unsigned char)c) return (void *)end;
  return 0;
}

extern __typeof(__memrchr) memrchr __attribute__((__weak__, __alias__("__memrchr")));
