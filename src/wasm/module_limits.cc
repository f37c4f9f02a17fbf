// SPDX-License-Identifier: Apache-2.0
#include "wasm/module_limits.h"

#include <fmt/format.h>

namespace cloche::wasm {
namespace {

constexpr std::size_t header_bytes = 8;
constexpr std::uint8_t code_section = 10;

// A number in LEB128 of at most 32 bits, taken from the front of `bytes`.
std::optional<std::uint32_t> take_number(std::span<const std::byte>& bytes) {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 35 && !bytes.empty(); shift += 7) {
    const auto byte = std::to_integer<std::uint8_t>(bytes.front());
    bytes = bytes.subspan(1);
    value |= std::uint64_t{byte & 0x7FU} << shift;
    if ((byte & 0x80U) != 0) continue;
    if (value > UINT32_MAX) return std::nullopt;
    return static_cast<std::uint32_t>(value);
  }
  return std::nullopt;
}

std::optional<std::string> check_functions(std::span<const std::byte> section) {
  const auto count = take_number(section);
  if (!count) return std::nullopt;
  if (*count > max_guest_functions)
    return fmt::format("it has {} functions, more than {}", *count, max_guest_functions);
  for (std::uint32_t i = 0; i < *count; ++i) {
    const auto size = take_number(section);
    if (!size || *size > section.size()) return std::nullopt;
    if (*size > max_guest_function_bytes) {
      return fmt::format("a function of {} bytes is longer than {}", *size,
                         max_guest_function_bytes);
    }
    section = section.subspan(*size);
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> beyond_limits(std::span<const std::byte> wasm) {
  if (wasm.size() < header_bytes) return std::nullopt;
  std::span<const std::byte> rest = wasm.subspan(header_bytes);
  while (!rest.empty()) {
    const auto id = std::to_integer<std::uint8_t>(rest.front());
    rest = rest.subspan(1);
    const auto size = take_number(rest);
    if (!size || *size > rest.size()) return std::nullopt;
    if (id == code_section) {
      if (auto problem = check_functions(rest.first(*size))) return problem;
    }
    rest = rest.subspan(*size);
  }
  return std::nullopt;
}

}  // namespace cloche::wasm
