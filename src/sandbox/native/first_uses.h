// SPDX-License-Identifier: Apache-2.0
// What of a native sandbox starts at its first use, and may have been started before.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>

namespace cloche::sandbox {

enum class FirstUse : std::uint8_t { shell, python, session };
inline constexpr std::size_t first_use_count = 3;

class FirstUses {
 public:
  bool has(FirstUse use) const noexcept { return uses_[static_cast<std::size_t>(use)]; }
  bool any() const noexcept { return uses_.any(); }
  void add(FirstUse use) noexcept { uses_.set(static_cast<std::size_t>(use)); }

 private:
  std::bitset<first_use_count> uses_;
};

}  // namespace cloche::sandbox
