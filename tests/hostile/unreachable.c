// SPDX-License-Identifier: Apache-2.0
// Reaches an instruction that stands for a bug.
// ends: signaled 4
int main(void) { __builtin_trap(); }
