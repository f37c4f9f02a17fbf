// SPDX-License-Identifier: Apache-2.0
// ForkingPython: a python3 of this machine with 10 MB, which forks itself: what a fork of a live
// interpreter costs at least.
#pragma once

#include <sys/types.h>

#include <string_view>

#include "base/unique_fd.h"

namespace cloche::bench {

class ForkingPython {
 public:
  ForkingPython();  // throws where it cannot be started
  ~ForkingPython();
  ForkingPython(const ForkingPython&) = delete;
  ForkingPython& operator=(const ForkingPython&) = delete;

  // It writes to each page of them.
  void write() { ask('w'); }
  // A child of fork() does one step, says it, and ends.
  void fork() { ask('f'); }

 private:
  void ask(char what);

  UniqueFd ours_;
  pid_t pid_ = -1;
};

// What makes the 10 MB and writes to them, there and in a sandbox.
inline constexpr const char* make_10_mb = "state = bytearray(b'1') * (10 << 20); print(1)";
inline constexpr const char* write_10_mb =
    "for page in range(0, len(state), 4096): state[page] ^= 1";

}  // namespace cloche::bench
