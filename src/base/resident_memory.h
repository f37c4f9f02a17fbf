// SPDX-License-Identifier: Apache-2.0
// How much of the machine this process takes, and there is: what a server tells of itself and is
// bounded by.
#pragma once

#include <cstdint>

namespace cloche {

// What this process has in memory; 0 where the host does not say.
std::uint64_t resident_bytes() noexcept;
// What the machine has; 0 where the host does not say.
std::uint64_t machine_memory_bytes() noexcept;

}  // namespace cloche
