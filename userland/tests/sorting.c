/* qsort of so many elements that its heaps are told by more than one word: of the last two heaps one has 3 elements, the other 18,454,929,
 * whose orders are 32 apart. musl 1.2.5 wrote beyond its stack there (CVE-2026-40200). */
#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 18454929 + 3 };

static int order(const void *a, const void *b) { return *(const unsigned char *)a - *(const unsigned char *)b; }

int main(void) {
  unsigned char *numbers = malloc(COUNT);
  if (numbers == NULL) return 1;
  for (int i = 0; i < COUNT; ++i) numbers[i] = 1 + (long long)i * 254 / COUNT;
  numbers[COUNT - 1] = 0;
  qsort(numbers, COUNT, 1, order);
  int wrong = 0;
  for (int i = 1; i < COUNT; ++i) wrong += numbers[i - 1] > numbers[i];
  printf("out of order: %d, first %d, last %d\n", wrong, numbers[0], numbers[COUNT - 1]);
  return 0;
}
