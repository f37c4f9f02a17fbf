// Vectors of WebAssembly by those of the machine that node itself is a program of. They are enabled for these functions alone.
#include "host_wasm.h"

#pragma clang attribute push(__attribute__((target("simd128"))), apply_to = function)
#include <wasm_simd128.h>

static v128_t pairs_of_products(v128_t a, v128_t b)
{
  const v128_t low = wasm_i16x8_extmul_low_i8x16(a, b), high = wasm_i16x8_extmul_high_i8x16(a, b);
  // Neighbours are added in 32 bits, and wrap to 16.
  const v128_t sums[2] = { wasm_i32x4_extadd_pairwise_i16x8(low), wasm_i32x4_extadd_pairwise_i16x8(high) };
  return wasm_i8x16_shuffle(sums[0], sums[1], 0, 1, 4, 5, 8, 9, 12, 13, 16, 17, 20, 21, 24, 25, 28, 29);
}

const char *vector_signature(uint32_t operation)
{
  switch (operation) {
#define OPERATION(number, signature, result, expression) case number: return signature;
#include "host_wasm_vector_list.h"
#undef OPERATION
    case 13: return "vv:v";
    case 21: case 22: return "v:i16";
    case 23: return "vi:v16";
    case 24: case 25: return "v:i8";
    case 26: return "vi:v8";
    case 27: return "v:i4";
    case 28: return "vi:v4";
    case 29: return "v:l2";
    case 30: return "vl:v2";
    case 31: return "v:f4";
    case 32: return "vf:v4";
    case 33: return "v:d2";
    case 34: return "vd:v2";
    default: return NULL;
  }
}

// One lane of a vector, which is one of its bytes, or two, four or eight of them.
static uint64_t lane_of(const uint64_t *vector, uint32_t lane, uint32_t size)
{
  uint64_t value = 0;
  memcpy(&value, (const uint8_t *)vector + lane * size, size);
  return value;
}

static void set_lane(uint64_t *result, const uint64_t *vector, uint32_t lane, uint32_t size, uint64_t value)
{
  uint64_t copy[2] = { vector[0], vector[1] };
  memcpy((uint8_t *)copy + lane * size, &value, size);
  memcpy(result, copy, sizeof copy);
}

static void shuffle(uint64_t *result, const uint64_t *first, const uint64_t *second, const uint16_t *operands)
{
  uint8_t from[32], to[16];
  memcpy(from, first, 16);
  memcpy(from + 16, second, 16);
  for (int i = 0; i < 16; i++) to[i] = from[operands[4 + i / 2] >> 8 * (i & 1) & 31];
  memcpy(result, to, 16);
}

// operands: the place of the result, three of operands (the last that is none of those: the lane).
void vector_operation(uint32_t operation, uint64_t *fp, const uint16_t *operands)
{
  uint64_t *const result = fp + operands[0], *const a = fp + operands[1], *const b = fp + operands[2], *const c = fp + operands[3];
#define v0 wasm_v128_load(a)
#define v1 wasm_v128_load(b)
#define v2 wasm_v128_load(c)
#define AT(type, place) (*(const type __attribute__((may_alias)) *)(place))
#define i0 AT(int32_t, a)
#define i1 AT(uint32_t, b)
#define l0 AT(int64_t, a)
#define f0 AT(float, a)
#define d0 AT(double, a)
#define GIVE_v(value) wasm_v128_store(result, value)
#define GIVE_i(value) (*result = (uint32_t)(value))
  switch (operation) {
#define OPERATION(number, signature, kind, expression) case number: GIVE_##kind(expression); break;
#include "host_wasm_vector_list.h"
    case 13: shuffle(result, a, b, operands); break;
    case 21: *result = (uint32_t)(int8_t)lane_of(a, operands[2], 1); break;
    case 22: *result = lane_of(a, operands[2], 1); break;
    case 23: set_lane(result, a, operands[3], 1, *b); break;
    case 24: *result = (uint32_t)(int16_t)lane_of(a, operands[2], 2); break;
    case 25: *result = lane_of(a, operands[2], 2); break;
    case 26: set_lane(result, a, operands[3], 2, *b); break;
    case 27: case 31: *result = lane_of(a, operands[2], 4); break;
    case 28: case 32: set_lane(result, a, operands[3], 4, *b); break;
    case 29: case 33: *result = lane_of(a, operands[2], 8); break;
    case 30: case 34: set_lane(result, a, operands[3], 8, *b); break;
    default: break;
  }
}

void vector_memory(uint32_t operation, uint8_t *memory, uint64_t *result, const uint64_t *vector, uint32_t lane)
{
  const uint32_t size = 1u << (operation & 3);
  uint64_t loaded = 0;
  switch (operation) {
    case 0: wasm_v128_store(result, wasm_v128_load(memory)); break;
    case 1: wasm_v128_store(result, wasm_i16x8_load8x8(memory)); break;
    case 2: wasm_v128_store(result, wasm_u16x8_load8x8(memory)); break;
    case 3: wasm_v128_store(result, wasm_i32x4_load16x4(memory)); break;
    case 4: wasm_v128_store(result, wasm_u32x4_load16x4(memory)); break;
    case 5: wasm_v128_store(result, wasm_i64x2_load32x2(memory)); break;
    case 6: wasm_v128_store(result, wasm_u64x2_load32x2(memory)); break;
    case 7: wasm_v128_store(result, wasm_v128_load8_splat(memory)); break;
    case 8: wasm_v128_store(result, wasm_v128_load16_splat(memory)); break;
    case 9: wasm_v128_store(result, wasm_v128_load32_splat(memory)); break;
    case 10: wasm_v128_store(result, wasm_v128_load64_splat(memory)); break;
    case 11: wasm_v128_store(memory, wasm_v128_load(vector)); break;
    case 84: case 85: case 86: case 87:
      memcpy(&loaded, memory, size);
      set_lane(result, vector, lane, size, loaded);
      break;
    case 88: case 89: case 90: case 91: memcpy(memory, (const uint8_t *)vector + lane * size, size); break;
    case 92: wasm_v128_store(result, wasm_v128_load32_zero(memory)); break;
    case 93: wasm_v128_store(result, wasm_v128_load64_zero(memory)); break;
    default: break;
  }
}
#pragma clang attribute pop
