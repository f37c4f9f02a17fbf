// SPDX-License-Identifier: Apache-2.0
// What the compiler of guests' programs takes from itself before it looks at one.
#pragma once

#include <cstdint>

namespace cloche::compiler {

struct JailLimits {
  int parent_pid;              // it ends with this process
  std::uint64_t memory_bytes;  // beside what it has now
  std::uint64_t cpu_seconds;
};

// Limits, a low priority, no new privileges, and from then on the system calls alone that compiling
// takes: no file is opened, no process or connection made. False where the host refuses one of the
// limits; a host without seccomp goes without that.
bool enter_jail(const JailLimits& limits);

}  // namespace cloche::compiler
