// SPDX-License-Identifier: Apache-2.0
// What whole short lives cost: a sandbox made, used once and removed, or a process of one.
#pragma once

#include <functional>

namespace cloche::bench {

// What two threads did in some seconds, after one life that does not count.
struct Lived {
  int count = 0;
  double seconds = 0;
  double cpu_ms = 0;  // of this process

  double per_second() const { return count / seconds; }
};
Lived live_for_a_while(const std::function<void()>& life);

// Measures and prints. Throws when a sandbox cannot be made.
void measure_lives();

}  // namespace cloche::bench
