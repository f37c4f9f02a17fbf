// SPDX-License-Identifier: Apache-2.0
#include "base/base64.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace cloche {
namespace {

constexpr std::string_view alphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::uint8_t no_digit = 0xff;

constexpr auto digits = [] {
  std::array<std::uint8_t, 256> table{};
  table.fill(no_digit);
  for (std::size_t i = 0; i < alphabet.size(); ++i)
    table[static_cast<unsigned char>(alphabet[i])] = static_cast<std::uint8_t>(i);
  return table;
}();

std::uint32_t byte_at(std::string_view bytes, std::size_t at) {
  return at < bytes.size() ? static_cast<unsigned char>(bytes[at]) : 0U;
}

}  // namespace

std::string to_base64(std::string_view bytes) {
  std::string text((bytes.size() + 2) / 3 * 4, '=');
  std::size_t out = 0;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::uint32_t group =
        byte_at(bytes, i) << 16 | byte_at(bytes, i + 1) << 8 | byte_at(bytes, i + 2);
    const std::size_t count = std::min<std::size_t>(bytes.size() - i, 3) + 1;
    for (std::size_t k = 0; k < count; ++k) text[out + k] = alphabet[group >> (18 - 6 * k) & 63];
    out += 4;
  }
  return text;
}

std::optional<std::string> from_base64(std::string_view text) {
  const bool padded = text.ends_with('=');
  if (padded && text.size() % 4 != 0) return std::nullopt;
  for (int i = 0; i < 2 && text.ends_with('='); ++i) text.remove_suffix(1);
  if (text.size() % 4 == 1) return std::nullopt;
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3 + 2);
  for (std::size_t i = 0; i < text.size(); i += 4) {
    const std::string_view group = text.substr(i, 4);
    std::uint32_t value = 0;
    for (const char c : group) {
      const std::uint8_t digit = digits[static_cast<unsigned char>(c)];
      if (digit == no_digit) return std::nullopt;
      value = value << 6 | digit;
    }
    value <<= 6 * (4 - group.size());
    for (std::size_t k = 0; k + 1 < group.size(); ++k)
      bytes.push_back(static_cast<char>(value >> (16 - 8 * k) & 0xff));
  }
  return bytes;
}

}  // namespace cloche
