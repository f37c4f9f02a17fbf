// SPDX-License-Identifier: Apache-2.0
// How much a tree may have that is made of another one, or of a stream.
#pragma once

#include <cstdint>
#include <limits>

namespace cloche::warden {

struct TreeLimits {
  std::uint64_t bytes = std::numeric_limits<std::uint64_t>::max();  // of its files' data
  std::uint64_t files = std::numeric_limits<std::uint64_t>::max();  // of any kind
};

}  // namespace cloche::warden
