// SPDX-License-Identifier: Apache-2.0
// How big the functions of a program that a guest brings may be. Compiling takes time and memory
// that grow faster than a function does, and cannot be stopped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace cloche::wasm {

inline constexpr std::uint64_t max_guest_function_bytes = std::uint64_t{512} << 10;
inline constexpr std::uint32_t max_guest_functions = 200'000;

// A sentence about what is too big in this module; nothing when all is within the limits, and for
// bytes that are no module (the compiler says what is wrong with those).
std::optional<std::string> beyond_limits(std::span<const std::byte> wasm);

}  // namespace cloche::wasm
