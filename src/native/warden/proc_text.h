// SPDX-License-Identifier: Apache-2.0
// Small texts of /proc, and numbers in them.
#pragma once

#include <charconv>
#include <optional>
#include <span>
#include <string_view>

namespace cloche::warden {

// What the file says, as far as there is room. Empty where it is gone, or nobody may look.
std::string_view read_text(const char* path, std::span<char> room) noexcept;

// What stands behind the first `title`.
template <typename Number>
std::optional<Number> number_after(std::string_view text, std::string_view title) noexcept {
  const std::size_t at = text.find(title);
  if (at == text.npos) return std::nullopt;
  text.remove_prefix(at + title.size());
  Number number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() ? std::optional(number) : std::nullopt;
}

}  // namespace cloche::warden
