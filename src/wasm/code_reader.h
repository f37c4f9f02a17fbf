// SPDX-License-Identifier: Apache-2.0
// Reads a function's code, instruction by instruction.
#pragma once

#include <cstdint>
#include <optional>

#include "wasm/wasm_reader.h"

namespace cloche::wasm {

// What make_preemptible asks of an instruction. `block`: also a loop or a condition.
enum class Instruction : std::uint8_t {
  other,
  memory_copy,
  memory_fill,
  memory_grow,
  block,
  try_table,
  throw_,
  throw_ref,
};

// How an exception is caught by a clause of try_table, as it is written there.
enum class CatchKind : std::uint8_t { tag, tag_ref, all, all_ref };

// Passes over the type of a value.
bool skip_value_type(WasmReader& code) noexcept;

// Passes over the next one, with its operands. Nothing where it is cut short or of a proposal that
// programs of the host do not use (tail calls, garbage collection, atomics).
std::optional<Instruction> next_instruction(WasmReader& code) noexcept;

}  // namespace cloche::wasm
