#ifndef CLOCHE_SIMD_H
#define CLOCHE_SIMD_H

// Blocks of 16 bytes for the string functions. An aligned block never reaches over the end of the memory, so a
// function may look at all of the block that a byte it may read is in.

#include <stdint.h>

#define BLOCK 16

typedef signed char block_t __attribute__((__vector_size__(BLOCK), __may_alias__));
typedef signed char loose_block_t __attribute__((__vector_size__(BLOCK), __may_alias__, __aligned__(1)));

static inline block_t load(const void *p)
{
  return *(const loose_block_t *)p;
}

static inline block_t splat(int c)
{
  return (block_t){ 0 } + (signed char)c;
}

static inline uintptr_t offset_in_block(const void *p)
{
  return (uintptr_t)p % BLOCK;
}

// Bit i is set where byte i of the block is `wanted`.
static inline unsigned matches(block_t block, block_t wanted)
{
  return __builtin_wasm_bitmask_i8x16((block_t)(block == wanted));
}

#endif
