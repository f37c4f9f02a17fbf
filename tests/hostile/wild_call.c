// SPDX-License-Identifier: Apache-2.0
// Calls a function that is none.
// ends: signaled 11
int main(void) {
  void (*volatile function)(void) = (void (*)(void))0x7ffffff0UL;
  function();
  return 0;
}
