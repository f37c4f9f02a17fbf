// SPDX-License-Identifier: Apache-2.0
// Calls itself until its stack is at its end.
// ends: signaled 11
static volatile int depth;

static int deeper(volatile char* above) {
  volatile char here[4096];
  here[0] = above[0];
  ++depth;
  return depth < 0 ? 0 : deeper(here) + here[1];
}

int main(void) {
  volatile char first = 1;
  return deeper(&first);
}
