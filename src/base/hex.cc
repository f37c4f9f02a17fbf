// SPDX-License-Identifier: Apache-2.0
#include "base/hex.h"

#include <charconv>

namespace cloche {

std::string to_hex(std::span<const std::uint8_t> bytes) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const std::uint8_t byte : bytes) {
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

bool from_hex(std::string_view text, std::span<std::uint8_t> bytes) {
  if (text.size() != bytes.size() * 2) return false;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const char* const from = text.data() + i * 2;
    if (std::from_chars(from, from + 2, bytes[i], 16).ptr != from + 2) return false;
  }
  return true;
}

}  // namespace cloche
