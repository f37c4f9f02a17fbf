// SPDX-License-Identifier: Apache-2.0
// Writing all of something to a descriptor.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace cloche {

// At once or in parts; false with errno set. For a descriptor that blocks.
bool write_fully(int fd, std::span<const std::byte> bytes) noexcept;

inline bool write_fully(int fd, std::string_view text) noexcept {
  return write_fully(fd, std::as_bytes(std::span(text.data(), text.size())));
}

}  // namespace cloche
