// SPDX-License-Identifier: Apache-2.0
// How a guest that computes is interrupted, which is a property of its machine code.
#pragma once

#include <cstdint>

namespace cloche::wasm {

enum class Interruption : std::uint8_t {
  epochs,   // every loop and function entry checks a counter
  signals,  // nothing checks: the thread gets a signal of the host (see preemption.h)
};

}  // namespace cloche::wasm
