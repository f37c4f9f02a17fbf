// SPDX-License-Identifier: Apache-2.0
#include "wasm/code_reader.h"

namespace cloche::wasm {
namespace {

// LEB128 of any length up to 64 bits, with a sign or without.
bool skip_number(WasmReader& code) noexcept {
  for (int i = 0; i < 10; ++i) {
    const auto next = code.byte();
    if (!next) return false;
    if ((*next & 0x80U) == 0) return true;
  }
  return false;
}

bool skip_numbers(WasmReader& code, std::uint64_t count) noexcept {
  for (std::uint64_t i = 0; i < count; ++i) {
    if (!skip_number(code)) return false;
  }
  return true;
}

bool skip_memory_operand(WasmReader& code) noexcept {
  const auto alignment = code.number();
  constexpr std::uint32_t has_memory = 0x40;
  return alignment && skip_numbers(code, (*alignment & has_memory) != 0 ? 2 : 1);
}

bool skip_catches(WasmReader& code) noexcept {
  const auto count = code.number();
  if (!count) return false;
  for (std::uint32_t i = 0; i < *count; ++i) {
    const auto kind = code.byte();
    if (!kind || *kind > 3 || !skip_numbers(code, *kind < 2 ? 2 : 1)) return false;
  }
  return true;
}

bool skip_vector(WasmReader& code) noexcept {
  const auto operation = code.number();
  if (!operation) return false;
  const std::uint32_t number = *operation;
  if (number <= 11 || number == 92 || number == 93) return skip_memory_operand(code);
  if (number == 12 || number == 13) return code.take(16).has_value();
  if (number >= 21 && number <= 34) return code.byte().has_value();
  if (number >= 84 && number <= 91) return skip_memory_operand(code) && code.byte().has_value();
  return true;
}

std::optional<Instruction> next_miscellaneous(WasmReader& code) noexcept {
  const auto operation = code.number();
  if (!operation || *operation > 17) return std::nullopt;
  static constexpr std::uint8_t operands[] = {0, 0, 0, 0, 0, 0, 0, 0, 2, 1, 2, 1, 2, 1, 2, 1, 1, 1};
  if (!skip_numbers(code, operands[*operation])) return std::nullopt;
  if (*operation == 10) return Instruction::memory_copy;
  return *operation == 11 ? Instruction::memory_fill : Instruction::other;
}

bool skip_operands(WasmReader& code, std::uint8_t opcode) noexcept {
  if (opcode >= 0x28 && opcode <= 0x3e) return skip_memory_operand(code);
  if (opcode >= 0x45 && opcode <= 0xc4) return true;
  switch (opcode) {
    case 0x00:
    case 0x01:
    case 0x05:
    case 0x0b:
    case 0x0f:
    case 0x19:
    case 0x1a:
    case 0x1b:
    case 0xd1: return true;
    case 0x06: return skip_value_type(code);
    case 0x07:
    case 0x09:
    case 0x0c:
    case 0x0d:
    case 0x10:
    case 0x18:
    case 0x20:
    case 0x21:
    case 0x22:
    case 0x23:
    case 0x24:
    case 0x25:
    case 0x26:
    case 0x3f:
    case 0x41:
    case 0x42:
    case 0xd0:
    case 0xd2: return skip_number(code);
    case 0x11: return skip_numbers(code, 2);
    case 0x0e: {
      const auto count = code.number();
      return count && skip_numbers(code, std::uint64_t{*count} + 1);
    }
    case 0x1c: {
      const auto count = code.number();
      for (std::uint32_t i = 0; count && i < *count; ++i) {
        if (!skip_value_type(code)) return false;
      }
      return count.has_value();
    }
    case 0x43: return code.take(4).has_value();
    case 0x44: return code.take(8).has_value();
    case 0xfd: return skip_vector(code);
    default: return false;
  }
}

}  // namespace

bool skip_value_type(WasmReader& code) noexcept {
  const auto rest = code.rest();
  if (rest.empty()) return false;
  const auto first = std::to_integer<std::uint8_t>(rest.front());
  const bool is_reference = first == 0x63 || first == 0x64;
  return skip_numbers(code, is_reference ? 2 : 1);
}

std::optional<Instruction> next_instruction(WasmReader& code) noexcept {
  const auto opcode = code.byte();
  if (!opcode) return std::nullopt;
  const auto if_read = [](bool is_read, Instruction instruction) {
    return is_read ? std::optional(instruction) : std::nullopt;
  };
  switch (*opcode) {
    case 0x02:
    case 0x03:
    case 0x04: return if_read(skip_value_type(code), Instruction::block);
    case 0x08: return if_read(skip_number(code), Instruction::throw_);
    case 0x0a: return Instruction::throw_ref;
    case 0x40: return if_read(skip_number(code), Instruction::memory_grow);
    case 0x1f: return if_read(skip_value_type(code) && skip_catches(code), Instruction::try_table);
    case 0xfc: return next_miscellaneous(code);
    default: break;
  }
  if (!skip_operands(code, *opcode)) return std::nullopt;
  return Instruction::other;
}

}  // namespace cloche::wasm
