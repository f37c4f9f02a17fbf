// SPDX-License-Identifier: Apache-2.0
// Calls a function by another type than its own.
// ends: signaled 11
static double half(double value) { return value / 2; }

int main(void) {
  volatile union {
    double (*typed)(double);
    int (*other)(int, int);
  } function = {half};
  return function.other(1, 2);
}
