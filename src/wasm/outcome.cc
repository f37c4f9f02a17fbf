// SPDX-License-Identifier: Apache-2.0
#include "wasm/outcome.h"

namespace cloche::wasm {

std::string_view to_string(Trap trap) noexcept {
  switch (trap) {
    case Trap::none: return "no trap";
    case Trap::memory: return "memory access out of bounds";
    case Trap::stack_overflow: return "stack overflow";
    case Trap::unreachable: return "unreachable code reached";
    case Trap::division_by_zero: return "integer division by zero";
    case Trap::integer_overflow: return "integer overflow";
    case Trap::bad_conversion: return "invalid conversion to integer";
    case Trap::bad_indirect_call: return "bad indirect call";
    case Trap::interrupted: return "interrupted";
    case Trap::uncaught_exception: return "uncaught exception";
    case Trap::out_of_memory: return "out of memory";
    case Trap::other: return "trap";
  }
  return "trap";
}

}  // namespace cloche::wasm
