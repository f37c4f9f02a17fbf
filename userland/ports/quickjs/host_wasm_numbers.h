// Numbers of WebAssembly that C has no operator for.
#pragma once

static inline uint32_t count_leading_32(uint32_t a) { return a ? (uint32_t)__builtin_clz(a) : 32; }
static inline uint32_t count_trailing_32(uint32_t a) { return a ? (uint32_t)__builtin_ctz(a) : 32; }
static inline uint64_t count_leading_64(uint64_t a) { return a ? (uint64_t)__builtin_clzll(a) : 64; }
static inline uint64_t count_trailing_64(uint64_t a) { return a ? (uint64_t)__builtin_ctzll(a) : 64; }
static inline uint32_t turn_left_32(uint32_t a, uint32_t b) { return a << (b & 31) | a >> (-b & 31); }
static inline uint64_t turn_left_64(uint64_t a, uint64_t b) { return a << (b & 63) | a >> (-b & 63); }

// Conversions that give the nearest number there is, and 0 for none.
#define SATURATE(name, to, from, least, below, most) \
  static inline to name(from a) { return a != a ? 0 : a < below ? least : a >= (from)most ? (to)most : (to)a; }
SATURATE(i32_of_f32, int32_t, float, INT32_MIN, -2147483648.0f, INT32_MAX)
SATURATE(u32_of_f32, uint32_t, float, 0, 0, UINT32_MAX)
SATURATE(i32_of_f64, int32_t, double, INT32_MIN, -2147483648.0, INT32_MAX)
SATURATE(u32_of_f64, uint32_t, double, 0, 0, UINT32_MAX)
SATURATE(i64_of_f32, int64_t, float, INT64_MIN, -9223372036854775808.0f, INT64_MAX)
SATURATE(u64_of_f32, uint64_t, float, 0, 0, UINT64_MAX)
SATURATE(i64_of_f64, int64_t, double, INT64_MIN, -9223372036854775808.0, INT64_MAX)
SATURATE(u64_of_f64, uint64_t, double, 0, 0, UINT64_MAX)
