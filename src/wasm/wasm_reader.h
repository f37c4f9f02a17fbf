// SPDX-License-Identifier: Apache-2.0
// Reads the outline of a module in binary form. The bytes are hostile; what cannot be read is
// nullopt.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace cloche::wasm {

inline constexpr std::size_t wasm_header_bytes = 8;

enum class Section : std::uint8_t {
  type = 1,
  import = 2,
  function = 3,
  table = 4,
  memory = 5,
  global = 6,
  export_ = 7,
  start = 8,
  code = 10,
  data = 11,
  tag = 13,
};

// Takes from the front of some bytes.
class WasmReader {
 public:
  explicit WasmReader(std::span<const std::byte> bytes) noexcept : rest_(bytes) {}

  bool at_end() const noexcept { return rest_.empty(); }
  std::span<const std::byte> rest() const noexcept { return rest_; }

  std::optional<std::uint8_t> byte() noexcept {
    if (rest_.empty()) return std::nullopt;
    const auto value = std::to_integer<std::uint8_t>(rest_.front());
    rest_ = rest_.subspan(1);
    return value;
  }

  // LEB128 of at most 32 bits.
  std::optional<std::uint32_t> number() noexcept {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 35; shift += 7) {
      const auto next = byte();
      if (!next) return std::nullopt;
      value |= std::uint64_t{*next & 0x7FU} << shift;
      if ((*next & 0x80U) != 0) continue;
      if (value > UINT32_MAX) return std::nullopt;
      return static_cast<std::uint32_t>(value);
    }
    return std::nullopt;
  }

  // Signed LEB128 of 32 bits, as the operand of i32.const.
  std::optional<std::uint32_t> signed_number() noexcept {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 35; shift += 7) {
      const auto next = byte();
      if (!next) return std::nullopt;
      value |= std::uint64_t{*next & 0x7FU} << shift;
      if ((*next & 0x80U) != 0) continue;
      if ((*next & 0x40U) != 0) value |= ~std::uint64_t{0} << (shift + 7);
      return static_cast<std::uint32_t>(value);
    }
    return std::nullopt;
  }

  // The next `size` bytes.
  std::optional<std::span<const std::byte>> take(std::size_t size) noexcept {
    if (size > rest_.size()) return std::nullopt;
    const auto taken = rest_.first(size);
    rest_ = rest_.subspan(size);
    return taken;
  }

 private:
  std::span<const std::byte> rest_;
};

struct WasmSection {
  std::uint8_t id;
  std::span<const std::byte> whole;    // with its id and size
  std::span<const std::byte> content;  // without
};

// Calls `use` for each section in turn, until one of them answers false or cannot be read. True
// when all were read and used.
template <typename Use>
bool for_each_section(std::span<const std::byte> wasm, Use&& use) {
  if (wasm.size() < wasm_header_bytes) return false;
  WasmReader reader(wasm.subspan(wasm_header_bytes));
  while (!reader.at_end()) {
    const std::span<const std::byte> from = reader.rest();
    const auto id = reader.byte();
    const auto size = reader.number();
    if (!size) return false;
    const auto content = reader.take(*size);
    if (!content) return false;
    if (!use(WasmSection{*id, from.first(from.size() - reader.rest().size()), *content}))
      return false;
  }
  return true;
}

}  // namespace cloche::wasm
