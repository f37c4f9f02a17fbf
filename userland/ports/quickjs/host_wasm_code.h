// The code that functions are interpreted as. An instruction is words of 16 bits: what it does, where the result goes, where the operands are; then what is written in it.
// Values are in places of the function: its locals first, then the operands by how high they lie, so that most instructions of the source that only move a value are none here.
// What a number of WebAssembly's own opcodes says has that number; saturating conversions follow them.
#pragma once

enum {
  TRUNC_SAT = 0xc5,        // eight of them
  COPY = 0xd0, COPY_VECTOR, CONSTANT_32, CONSTANT_64, CONSTANT_VECTOR, JUMP, JUMP_IF_ZERO, JUMP_UNLESS_ZERO, JUMP_BY_TABLE, LOOP,
  RETURN_NONE, RETURN_ONE, RETURN_SOME, CALL, CALL_INDIRECT, TAIL_CALL, TAIL_CALL_INDIRECT, SELECT, SELECT_VECTOR,
  GLOBAL_GET, GLOBAL_GET_VECTOR, GLOBAL_GET_REFERENCE, GLOBAL_SET, GLOBAL_SET_VECTOR, GLOBAL_SET_REFERENCE,
  MEMORY_SIZE, MEMORY_GROW, IS_NULL, SLOW, THROW, RETHROW, UNREACHABLE, VECTOR, VECTOR_MEMORY,
  // With a number in place of the second operand.
  WITH_32 = 0x100,         // from 0x46 to 0x78
  WITH_64 = 0x140,         // from 0x51 to 0x8a
  // Jumps by a comparison of integers, in the order of the opcodes.
  JUMP_32 = 0x180, JUMP_32_WITH = 0x18a, JUMP_64 = 0x194, JUMP_64_WITH = 0x19e,
};
