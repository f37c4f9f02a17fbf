// SPDX-License-Identifier: Apache-2.0
#include "wasm/module_limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "wasm/wasm_reader.h"

namespace cloche::wasm {
namespace {

// What the engine keeps, and as much again where it grows by doubling.
constexpr std::uint64_t table_element_bytes = 16;
constexpr std::uint64_t global_bytes = 16;
constexpr std::uint64_t function_bytes = 48;

constexpr std::uint8_t table_with_initializer = 0x40;
constexpr std::uint8_t ref_null_type = 0x63;
constexpr std::uint8_t ref_type = 0x64;
constexpr std::uint8_t limits_have_maximum = 1;

bool is(const WasmSection& section, Section id) noexcept {
  return section.id == static_cast<std::uint8_t>(id);
}

std::optional<std::string> check_functions(std::span<const std::byte> section) {
  WasmReader reader(section);
  const auto count = reader.number();
  if (!count) return std::nullopt;
  if (*count > max_guest_functions)
    return fmt::format("it has {} functions, more than {}", *count, max_guest_functions);
  for (std::uint32_t i = 0; i < *count; ++i) {
    const auto size = reader.number();
    if (!size || !reader.take(*size)) return std::nullopt;
    if (*size > max_guest_function_bytes) {
      return fmt::format("a function of {} bytes is longer than {}", *size,
                         max_guest_function_bytes);
    }
  }
  return std::nullopt;
}

std::optional<std::string> check_count(std::span<const std::byte> section, std::uint32_t most,
                                       std::string_view what) {
  WasmReader reader(section);
  const std::uint32_t count = reader.number().value_or(0);
  if (count <= most) return std::nullopt;
  return fmt::format("it has {} {}, more than {}", count, what, most);
}

// How many elements a table may come to; nothing when it cannot be told.
std::optional<std::uint64_t> table_elements(WasmReader& reader) {
  auto type = reader.byte();
  if (!type || *type == table_with_initializer) return std::nullopt;
  if ((*type == ref_type || *type == ref_null_type) && !reader.number()) return std::nullopt;
  const auto flags = reader.byte();
  const auto least = reader.number();
  if (!flags || *flags > limits_have_maximum || !least) return std::nullopt;
  if (*flags != limits_have_maximum) return max_table_elements;
  const auto most = reader.number();
  if (!most) return std::nullopt;
  return std::min<std::uint64_t>(std::max(*least, *most), max_table_elements);
}

std::uint64_t all_table_elements(std::span<const std::byte> section) {
  WasmReader reader(section);
  const std::uint64_t count =
      std::min<std::uint64_t>(reader.number().value_or(0), static_cast<std::uint64_t>(max_tables));
  std::uint64_t elements = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto one = table_elements(reader);
    if (!one) return elements + (count - i) * max_table_elements;
    elements += *one;
  }
  return elements;
}

std::uint64_t count_of(const WasmSection& section) {
  WasmReader reader(section.content);
  // There cannot be more of them than bytes.
  return std::min<std::uint64_t>(reader.number().value_or(0), section.content.size());
}

}  // namespace

std::optional<std::string> beyond_limits(std::span<const std::byte> wasm) {
  std::optional<std::string> problem;
  for_each_section(wasm, [&](const WasmSection& section) {
    if (is(section, Section::code)) problem = check_functions(section.content);
    if (is(section, Section::import))
      problem = check_count(section.content, max_guest_imports, "imports");
    if (is(section, Section::export_))
      problem = check_count(section.content, max_guest_exports, "exports");
    return !problem;
  });
  return problem;
}

std::uint64_t largest_function_bytes(std::span<const std::byte> wasm) {
  std::uint64_t largest = 0;
  for_each_section(wasm, [&](const WasmSection& section) {
    if (!is(section, Section::code)) return true;
    WasmReader reader(section.content);
    const std::uint64_t count = count_of(section);
    (void)reader.number();
    for (std::uint64_t i = 0; i < count; ++i) {
      const auto size = reader.number();
      if (!size || !reader.take(*size)) return false;
      largest = std::max<std::uint64_t>(largest, *size);
    }
    return true;
  });
  return largest;
}

std::uint64_t engine_bytes_of(std::span<const std::byte> wasm) {
  std::uint64_t bytes = 0;
  for_each_section(wasm, [&](const WasmSection& section) {
    if (is(section, Section::table))
      bytes += all_table_elements(section.content) * table_element_bytes;
    if (is(section, Section::global)) bytes += count_of(section) * global_bytes;
    if (is(section, Section::function)) bytes += count_of(section) * function_bytes;
    return true;
  });
  return bytes;
}

}  // namespace cloche::wasm
