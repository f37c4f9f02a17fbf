// SPDX-License-Identifier: Apache-2.0
// What the program that thaws and who starts it agree on.
#pragma once

namespace cloche::freeze {

inline constexpr int program_fd = 9;
inline constexpr int image_fd = 10;
inline constexpr int base_fd = 11;  // where the image has a base

// The exit status of a thaw that failed.
enum class ThawStep : unsigned char {
  maps = 90,
  image,
  kernel_parts,
  region,
  file,
  piece,
  layout,
  signals,
  thread,
};

}  // namespace cloche::freeze
