// SPDX-License-Identifier: Apache-2.0
// Waiting in tests, without a time that they assert.
#pragma once

#include <chrono>
#include <functional>
#include <thread>

namespace cloche::testing {

// Whether that comes true before a test is stuck. For what nobody can wait for: the host's own
// tables of processes and of memory.
inline bool within_a_minute(const std::function<bool()>& done) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (!done()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

}  // namespace cloche::testing
