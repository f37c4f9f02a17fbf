// SPDX-License-Identifier: Apache-2.0
// The numbers that pass between host and guest.
#pragma once

#include <bit>
#include <cstdint>

namespace cloche::wasm {

enum class ValueType : std::uint8_t { i32, i64, f32, f64 };

// A number with its wasm type; `bits` holds it zero-extended.
struct Value {
  ValueType type = ValueType::i32;
  std::uint64_t bits = 0;

  static constexpr Value i32(std::uint32_t v) { return {ValueType::i32, v}; }
  static constexpr Value i32(std::int32_t v) { return i32(static_cast<std::uint32_t>(v)); }
  static constexpr Value i64(std::uint64_t v) { return {ValueType::i64, v}; }
  static constexpr Value f32(float v) { return {ValueType::f32, std::bit_cast<std::uint32_t>(v)}; }
  static constexpr Value f64(double v) { return {ValueType::f64, std::bit_cast<std::uint64_t>(v)}; }

  constexpr std::uint32_t as_u32() const { return static_cast<std::uint32_t>(bits); }
  constexpr std::int32_t as_i32() const { return static_cast<std::int32_t>(as_u32()); }

  friend constexpr bool operator==(const Value&, const Value&) = default;
};

}  // namespace cloche::wasm
