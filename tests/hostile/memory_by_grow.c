// SPDX-License-Identifier: Apache-2.0
// Grows its linear memory by the instruction, and makes no system call.
// limits: memory=96M
// ends: exited 0
int main(void) {
  unsigned long pages = 0;
  while (__builtin_wasm_memory_grow(0, 16) != (unsigned long)-1) pages += 16;
  return pages <= 96 * 16 ? 0 : 2;
}
