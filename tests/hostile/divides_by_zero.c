// SPDX-License-Identifier: Apache-2.0
// Divides by zero.
// ends: signaled 8
int main(void) {
  volatile int zero = 0;
  return 7 / zero;
}
