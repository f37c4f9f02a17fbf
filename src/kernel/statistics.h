// SPDX-License-Identifier: Apache-2.0
// Counts of what guests asked for in vain. Kernel lock held.
#pragma once

#include <cstdint>
#include <map>

namespace cloche::kernel {

struct SyscallStatistics {
  // Calls by number that no family has; at most `max_numbers` different ones are told apart.
  static constexpr std::size_t max_numbers = 1024;
  std::map<std::uint32_t, std::uint64_t> unknown;

  void count_unknown(std::uint32_t number) {
    if (unknown.size() < max_numbers || unknown.contains(number)) ++unknown[number];
  }
};

}  // namespace cloche::kernel
