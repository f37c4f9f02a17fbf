// SPDX-License-Identifier: Apache-2.0
// Makes every system call with arguments that no honest program passes.
// limits: time=20000
// ends: exited 0
long __cloche_syscall(long n, long a, long b, long c, long d, long e, long f);

// What ends, stops, replaces or blocks the caller, by its own meaning.
static int is_left_out(int number) {
  static const int numbers[] = {
      93,     94,     221,    281,    129, 130, 131, 133, 134, 135, 138, 240, 101,
      407,    414,    413,    22,     441, 95,  260, 421, 422, 57,  436, 24,  0x1000,
      0x1001, 0x1002, 0x1003, 0x1004, 215, 222, 216, 214, 233, 103, 409, 65,  63,
      67,     69,     286,    207,    212, 417, 202, 242, 203, 32,  25,  261};
  for (unsigned i = 0; i < sizeof numbers / sizeof *numbers; ++i) {
    if (numbers[i] == number) return 1;
  }
  return 0;
}

int main(void) {
  static const int wild[] = {-1, 0x7fffffff, (int)0x80000000, 0, 1, 0xffff, (int)0xfffffff0};
  for (int number = 0; number < 0x1010; ++number) {
    if (number == 600) number = 0x1000;
    if (is_left_out(number)) continue;
    for (unsigned i = 0; i < sizeof wild / sizeof *wild; ++i) {
      const int value = wild[i];
      // Standard output stays as it is: the first argument is no descriptor that is open.
      const int first = value >= 0 && value < 3 ? -2 : value;
      __cloche_syscall(number, first, value, value, value, value, value);
    }
  }
  return 0;
}
