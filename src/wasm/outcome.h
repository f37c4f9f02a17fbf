// SPDX-License-Identifier: Apache-2.0
// Outcome: how a call into a guest ended. A value; nothing a guest does is an exception here.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "wasm/value.h"

namespace cloche::wasm {

enum class Ending : std::uint8_t {
  returned,     // the function came back
  exited,       // a host function or the epoch handler asked to unwind
  trapped,      // see `trap`
  not_callable  // no such export, or other parameters than given: nothing ran
};

enum class Trap : std::uint8_t {
  none,
  memory,  // access out of bounds
  stack_overflow,
  unreachable,  // also abort() in C
  division_by_zero,
  integer_overflow,
  bad_conversion,     // float to integer
  bad_indirect_call,  // null, out of the table, or another signature
  interrupted,        // an epoch without a handler
  uncaught_exception,
  out_of_memory,  // the host had none for what the guest asked
  other
};

// "memory access out of bounds", as a person reads it.
std::string_view to_string(Trap trap) noexcept;

struct Outcome {
  Ending ending = Ending::returned;
  Trap trap = Trap::none;
  Value result;         // the first result of a function that has one
  std::string message;  // for trapped and not_callable: what happened, with the guest's call stack
                        // where known

  bool returned() const noexcept { return ending == Ending::returned; }
};

}  // namespace cloche::wasm
