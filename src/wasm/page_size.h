// SPDX-License-Identifier: Apache-2.0
// Sizes that WebAssembly gives a 32-bit memory.
#pragma once

#include <cstdint>

namespace cloche::wasm {

constexpr std::uint64_t wasm_page_bytes = 65536;
constexpr std::uint64_t address_space_bytes = std::uint64_t{4} << 30;

}  // namespace cloche::wasm
