// SPDX-License-Identifier: Apache-2.0
// Computes for ever, and makes no system call.
// limits: time=200
// ends: timed_out
int main(void) {
  for (volatile unsigned turn = 0;; ++turn) {
  }
}
