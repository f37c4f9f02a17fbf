// Numbers that have no place in an integer: converted and back they are another number, which is how programs look for them.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
  const char *numbers[] = {"7", "-7", "1.5", "3e9", "-3e9", "1e19", "1e20", "-1e20", "nan"};
  for (int i = 0; i < 9; i++) {
    double d = strtod(numbers[i], 0);
    int small = (int)d;
    int64_t large = (int64_t)d;
    double whole = __builtin_floor(d >= 0 ? d : 0);
    uint64_t natural = (uint64_t)whole;
    printf("%s: int %d, int64_t %d, uint64_t %d\n", numbers[i], small == d, large == d, natural == d);
  }
}
