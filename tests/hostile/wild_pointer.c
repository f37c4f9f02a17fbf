// SPDX-License-Identifier: Apache-2.0
// Reads beyond its memory.
// ends: signaled 11
int main(void) {
  volatile char* pointer = (volatile char*)0xfffffff0UL;
  return *pointer;
}
