// SPDX-License-Identifier: Apache-2.0
// How big a program that a guest brings may be, and what it costs before it has run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace cloche::wasm {

// Compiling takes time and memory that grow faster than a function does.
inline constexpr std::uint64_t max_guest_function_bytes = std::uint64_t{512} << 10;
inline constexpr std::uint32_t max_guest_functions = 200'000;
// Each takes some hundred bytes of the host for as long as the program is known.
inline constexpr std::uint32_t max_guest_exports = 10'000;
inline constexpr std::uint32_t max_guest_imports = 1'000;

// Of an instance.
inline constexpr std::uint64_t max_table_elements = 250'000;  // of each table
inline constexpr std::int64_t max_tables = 8;

// A sentence about what is too big in this module; nothing when all is within the limits, and for
// bytes that are no module (the compiler says what is wrong with those).
std::optional<std::string> beyond_limits(std::span<const std::byte> wasm);

// Of its longest function; 0 for bytes that are no module.
std::uint64_t largest_function_bytes(std::span<const std::byte> wasm);

// What the engine may hold at most for an instance of this module beside its linear memory: tables
// as long as they may become, globals, references to functions.
std::uint64_t engine_bytes_of(std::span<const std::byte> wasm);

}  // namespace cloche::wasm
