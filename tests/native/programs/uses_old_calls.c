// SPDX-License-Identifier: Apache-2.0
// System calls of another kind of program, whose numbers mean something else: of 32 bits.
#include "attack.h"

int main(void) {
#ifdef __x86_64__
  long result = 20;  // getpid, where this way in is open
  __asm__ volatile("int $0x80" : "+a"(result) : : "memory", "r8", "r9", "r10", "r11");
  must_fail("int 0x80", (int)result > 0 ? 0 : -1);
#endif
  return verdict();
}
