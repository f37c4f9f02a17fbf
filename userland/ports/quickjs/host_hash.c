// The block functions of MD5, SHA-1 and SHA-2, for node's crypto. The state is words of this machine, the constants are the library's.
#include <string.h>

#include "host.h"

enum { MD5, SHA1, SHA256, SHA512 };

static uint32_t turn(uint32_t x, unsigned n)
{
  return x << n | x >> (32 - n);
}

static uint64_t turn64(uint64_t x, unsigned n)
{
  return x >> n | x << (64 - n);
}

static uint32_t big_word(const uint8_t *p)
{
  return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static void put_big_word(uint8_t *p, uint32_t word)
{
  for (int i = 0; i < 4; i++) p[i] = (uint8_t)(word >> (24 - 8 * i));
}

static void md5_block(uint32_t *h, const uint32_t *k, const uint8_t *block)
{
  static const uint8_t shifts[4][4] = { { 7, 12, 17, 22 }, { 5, 9, 14, 20 }, { 4, 11, 16, 23 }, { 6, 10, 15, 21 } };
  uint32_t w[16], a = h[0], b = h[1], c = h[2], d = h[3];
  memcpy(w, block, sizeof w);
  for (unsigned i = 0; i < 64; i++) {
    const unsigned round = i >> 4;
    const uint32_t f = round == 0 ? (b & c) | (~b & d) : round == 1 ? (d & b) | (~d & c) : round == 2 ? b ^ c ^ d : c ^ (b | ~d);
    const unsigned g = (round == 0 ? i : round == 1 ? 5 * i + 1 : round == 2 ? 3 * i + 5 : 7 * i) & 15;
    const uint32_t next = b + turn(a + f + k[i] + w[g], shifts[round][i & 3]);
    a = d;
    d = c;
    c = b;
    b = next;
  }
  h[0] += a;
  h[1] += b;
  h[2] += c;
  h[3] += d;
}

static void sha1_block(uint32_t *h, const uint32_t *k, const uint8_t *block)
{
  uint32_t w[80], a = h[0], b = h[1], c = h[2], d = h[3], e = h[4];
  for (int i = 0; i < 16; i++) w[i] = big_word(block + 4 * i);
  for (int i = 16; i < 80; i++) w[i] = turn(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
  for (int i = 0; i < 80; i++) {
    const uint32_t f = i < 20 ? (b & c) | (~b & d) : i >= 40 && i < 60 ? (b & c) | (b & d) | (c & d) : b ^ c ^ d;
    const uint32_t next = turn(a, 5) + f + e + k[i / 20] + w[i];
    e = d;
    d = c;
    c = turn(b, 30);
    b = a;
    a = next;
  }
  h[0] += a;
  h[1] += b;
  h[2] += c;
  h[3] += d;
  h[4] += e;
}

static void sha256_block(uint32_t *h, const uint32_t *k, const uint8_t *block)
{
  uint32_t w[64], v[8];
  for (int i = 0; i < 16; i++) w[i] = big_word(block + 4 * i);
  for (int i = 16; i < 64; i++) {
    const uint32_t x = w[i - 15], y = w[i - 2];
    w[i] = w[i - 16] + (turn(x, 25) ^ turn(x, 14) ^ x >> 3) + w[i - 7] + (turn(y, 15) ^ turn(y, 13) ^ y >> 10);
  }
  memcpy(v, h, sizeof v);
  for (int i = 0; i < 64; i++) {
    const uint32_t t = v[7] + (turn(v[4], 26) ^ turn(v[4], 21) ^ turn(v[4], 7)) + ((v[4] & v[5]) ^ (~v[4] & v[6])) + k[i] + w[i];
    const uint32_t u = (turn(v[0], 30) ^ turn(v[0], 19) ^ turn(v[0], 10)) + ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));
    memmove(v + 1, v, 7 * sizeof *v);
    v[4] += t;
    v[0] = t + u;
  }
  for (int i = 0; i < 8; i++) h[i] += v[i];
}

static void sha512_block(uint64_t *h, const uint64_t *k, const uint8_t *block)
{
  uint64_t w[80], v[8];
  for (int i = 0; i < 16; i++) w[i] = (uint64_t)big_word(block + 8 * i) << 32 | big_word(block + 8 * i + 4);
  for (int i = 16; i < 80; i++) {
    const uint64_t x = w[i - 15], y = w[i - 2];
    w[i] = w[i - 16] + (turn64(x, 1) ^ turn64(x, 8) ^ x >> 7) + w[i - 7] + (turn64(y, 19) ^ turn64(y, 61) ^ y >> 6);
  }
  memcpy(v, h, sizeof v);
  for (int i = 0; i < 80; i++) {
    const uint64_t t = v[7] + (turn64(v[4], 14) ^ turn64(v[4], 18) ^ turn64(v[4], 41)) + ((v[4] & v[5]) ^ (~v[4] & v[6])) + k[i] + w[i];
    const uint64_t u = (turn64(v[0], 28) ^ turn64(v[0], 34) ^ turn64(v[0], 39)) + ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));
    memmove(v + 1, v, 7 * sizeof *v);
    v[4] += t;
    v[0] = t + u;
  }
  for (int i = 0; i < 8; i++) h[i] += v[i];
}

static void run_block(int kind, void *state, const void *k, const uint8_t *block)
{
  switch (kind) {
  case MD5: md5_block(state, k, block); break;
  case SHA1: sha1_block(state, k, block); break;
  case SHA256: sha256_block(state, k, block); break;
  default: sha512_block(state, k, block); break;
  }
}

// The bytes of an ArrayBuffer that has at least so many.
static uint8_t *buffer_of(JSContext *ctx, JSValueConst value, size_t least)
{
  size_t size;
  uint8_t *bytes = JS_GetArrayBuffer(ctx, &size, value);
  if (!bytes || size < least) {
    if (bytes) JS_ThrowRangeError(ctx, "the buffer is too small");
    return NULL;
  }
  return bytes;
}

static const size_t constants_bytes[] = { 64 * 4, 4 * 4, 64 * 4, 80 * 8 };

// hashBlocks(kind, state, constants, buffer, offset, blocks)
static JSValue hash_blocks(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  int kind;
  int64_t offset, count;
  if (JS_ToInt32(ctx, &kind, argv[0]) || JS_ToInt64(ctx, &offset, argv[4]) || JS_ToInt64(ctx, &count, argv[5])) return JS_EXCEPTION;
  if (kind < 0 || kind > SHA512 || offset < 0 || count < 0 || offset > 1LL << 40 || count > 1LL << 32) return JS_ThrowRangeError(ctx, "no such blocks");
  const size_t block = kind == SHA512 ? 128 : 64;
  uint8_t *state = buffer_of(ctx, argv[1], 64), *k = buffer_of(ctx, argv[2], constants_bytes[kind]);
  if (!state || !k) return JS_EXCEPTION;
  size_t size;
  uint8_t *bytes = JS_GetArrayBuffer(ctx, &size, argv[3]);
  if ((uint64_t)offset + (uint64_t)count * block > size) return JS_ThrowRangeError(ctx, "no such blocks");
  for (int64_t i = 0; i < count; i++) run_block(kind, state, k, bytes + offset + i * (int64_t)block);
  return JS_UNDEFINED;
}

// The digest of what the state is of, with `size` bytes of `data` behind the one block that it has taken.
static void finish(int kind, const uint8_t *start, const uint8_t *k, const uint8_t *data, size_t size, uint8_t *out)
{
  const size_t block = kind == SHA512 ? 128 : 64;
  _Alignas(8) uint8_t state[64];
  uint8_t last[128] = { 0 };
  memcpy(state, start, sizeof state);
  memcpy(last, data, size);
  last[size] = 0x80;
  const uint32_t bits = (uint32_t)(8 * (block + size));
  if (kind == MD5) memcpy(last + block - 8, &bits, 4);
  else put_big_word(last + block - 4, bits);
  run_block(kind, state, k, last);
  for (int i = 0; i < 8 * (kind == SHA512 ? 2 : 1); i++) {
    // Of a word of 64 bits the high half comes first.
    uint32_t word;
    memcpy(&word, state + 4 * (kind == SHA512 ? i ^ 1 : i), 4);
    if (kind == MD5) memcpy(out + 4 * i, &word, 4);
    else put_big_word(out + 4 * i, word);
  }
}

// hashRounds(kind, constants, inner, outer, bytes of a digest, last digest, sum, rounds): what PBKDF2 adds up, of HMAC's two states
static JSValue hash_rounds(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  int kind, size;
  int64_t rounds;
  if (JS_ToInt32(ctx, &kind, argv[0]) || JS_ToInt32(ctx, &size, argv[4]) || JS_ToInt64(ctx, &rounds, argv[7])) return JS_EXCEPTION;
  if (kind < 0 || kind > SHA512 || size < 1 || size > (kind == SHA512 ? 64 : 32)) return JS_ThrowRangeError(ctx, "no such digest");
  uint8_t *k = buffer_of(ctx, argv[1], constants_bytes[kind]), *inner = buffer_of(ctx, argv[2], 64), *outer = buffer_of(ctx, argv[3], 64);
  uint8_t *last = buffer_of(ctx, argv[5], (size_t)size), *sum = buffer_of(ctx, argv[6], (size_t)size);
  if (!k || !inner || !outer || !last || !sum) return JS_EXCEPTION;
  uint8_t digest[64], between[64];
  memcpy(digest, last, (size_t)size);
  while (rounds-- > 0) {
    finish(kind, inner, k, digest, (size_t)size, between);
    finish(kind, outer, k, between, (size_t)size, digest);
    for (int i = 0; i < size; i++) sum[i] ^= digest[i];
  }
  return JS_UNDEFINED;
}

static const JSCFunctionListEntry functions[] = {
  JS_CFUNC_DEF("hashBlocks", 6, hash_blocks),
  JS_CFUNC_DEF("hashRounds", 8, hash_rounds),
};

void add_hash_functions(JSContext *ctx, JSValueConst native)
{
  JS_SetPropertyFunctionList(ctx, native, functions, sizeof functions / sizeof *functions);
}
