// Bytes as text in the encodings of Buffer that are not UTF-8, and bytes that are looked for.
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "host.h"

enum { LATIN1, HEX, BASE64, BASE64URL, UTF16LE, ASCII };
static const char alphabets[2][65] = { "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
                                       "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_" };

static int digit_of(uint16_t unit)
{
  if (unit >= '0' && unit <= '9') return unit - '0';
  if (unit >= 'a' && unit <= 'f') return unit - 'a' + 10;
  return unit >= 'A' && unit <= 'F' ? unit - 'A' + 10 : -1;
}

// Of either alphabet; -1 for what is passed over.
static int sextet_of(uint16_t unit)
{
  if (unit >= 'A' && unit <= 'Z') return unit - 'A';
  if (unit >= 'a' && unit <= 'z') return unit - 'a' + 26;
  if (unit >= '0' && unit <= '9') return unit - '0' + 52;
  return unit == '+' || unit == '-' ? 62 : unit == '/' || unit == '_' ? 63 : -1;
}

static size_t encode_units(uint8_t *out, const uint16_t *units, size_t count, int kind)
{
  size_t size = 0;
  unsigned held = 0, bits = 0;
  switch (kind) {
  case UTF16LE:
    memcpy(out, units, 2 * count);
    return 2 * count;
  case HEX:
    for (; size < count / 2; size++) {
      int high = digit_of(units[2 * size]), low = digit_of(units[2 * size + 1]);
      if (high < 0 || low < 0) break;
      out[size] = (uint8_t)(high << 4 | low);
    }
    return size;
  case BASE64:
  case BASE64URL:
    for (size_t i = 0; i < count && units[i] != '='; i++) {
      int sextet = sextet_of(units[i]);
      if (sextet < 0) continue;
      held = (held << 6 | (unsigned)sextet) & 0xffffff;
      bits += 6;
      if (bits < 8) continue;
      bits -= 8;
      out[size++] = (uint8_t)(held >> bits);
    }
    return size;
  }
  for (; size < count; size++) out[size] = (uint8_t)units[size];
  return size;
}

// textToBytes(string, encoding) -> ArrayBuffer
static JSValue text_to_bytes(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  int kind;
  size_t count;
  if (JS_ToInt32(ctx, &kind, argv[1])) return JS_EXCEPTION;
  const uint16_t *units = JS_ToCStringLenUTF16(ctx, &count, argv[0]);
  if (!units) return JS_EXCEPTION;
  uint8_t *out = malloc(2 * count + 1);
  JSValue result = out ? bytes_of(ctx, out, encode_units(out, units, count, kind)) : JS_ThrowOutOfMemory(ctx);
  JS_FreeCStringUTF16(ctx, units);
  return result;
}

// The bytes that an ArrayBuffer, an offset and a length say; NULL with an exception where there are none such.
static const uint8_t *range_of(JSContext *ctx, JSValueConst *argv, size_t *length)
{
  size_t size = 0;
  int64_t offset, wanted;
  const uint8_t *bytes = JS_GetArrayBuffer(ctx, &size, argv[0]);
  if (!bytes && size) return NULL;
  if (JS_ToInt64(ctx, &offset, argv[1]) || JS_ToInt64(ctx, &wanted, argv[2])) return NULL;
  if (offset < 0 || wanted < 0 || (uint64_t)offset > size || (uint64_t)wanted > size - (uint64_t)offset) {
    JS_ThrowRangeError(ctx, "the range is outside of the buffer");
    return NULL;
  }
  *length = (size_t)wanted;
  return bytes ? bytes + offset : (const uint8_t *)"";
}

static size_t decode_bytes(char *out, const uint8_t *bytes, size_t length, int kind)
{
  size_t size = 0;
  if (kind == HEX) {
    for (size_t i = 0; i < length; i++) {
      out[size++] = "0123456789abcdef"[bytes[i] >> 4];
      out[size++] = "0123456789abcdef"[bytes[i] & 15];
    }
    return size;
  }
  const char *alphabet = alphabets[kind == BASE64URL];
  for (size_t i = 0; i < length; i += 3) {
    const size_t left = length - i;
    const unsigned word = (unsigned)bytes[i] << 16 | (left > 1 ? (unsigned)bytes[i + 1] << 8 : 0) | (left > 2 ? bytes[i + 2] : 0);
    out[size++] = alphabet[word >> 18];
    out[size++] = alphabet[word >> 12 & 63];
    if (left > 1) out[size++] = alphabet[word >> 6 & 63];
    if (left > 2) out[size++] = alphabet[word & 63];
    for (size_t pad = left; kind == BASE64 && pad < 3; pad++) out[size++] = '=';
  }
  return size;
}

// Letters of one byte, each `step` bytes from the one before, as UTF-8, which the engine keeps as short as it can.
static size_t narrow_text(char *out, const uint8_t *bytes, size_t count, size_t step, uint8_t mask)
{
  size_t size = 0;
  for (size_t i = 0; i < count; i++) {
    const uint8_t byte = bytes[i * step] & mask;
    if (byte > 127) out[size++] = (char)(0xc0 | byte >> 6);
    out[size++] = (char)(byte > 127 ? 0x80 | (byte & 63) : byte);
  }
  return size;
}

// bytesToText(ArrayBuffer, offset, length, encoding) -> string
static JSValue bytes_to_text(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  int kind;
  size_t length;
  const uint8_t *bytes = range_of(ctx, argv, &length);
  if (!bytes || JS_ToInt32(ctx, &kind, argv[3])) return JS_EXCEPTION;
  char *out = malloc(2 * length + 4);
  if (!out) return JS_ThrowOutOfMemory(ctx);
  const size_t step = kind == UTF16LE ? 2 : 1, count = length / step;
  int wide = 0;
  for (size_t i = 1; step == 2 && i < 2 * count; i += 2) wide |= bytes[i];
  JSValue text;
  if (wide) {
    memcpy(out, bytes, 2 * count);
    text = JS_NewStringUTF16(ctx, (const uint16_t *)out, count);
  } else {
    const size_t size = kind == LATIN1 || kind == ASCII || kind == UTF16LE ? narrow_text(out, bytes, count, step, kind == ASCII ? 127 : 255) : decode_bytes(out, bytes, length, kind);
    text = JS_NewStringLen(ctx, out, size);
  }
  free(out);
  return text;
}

// findBytes(ArrayBuffer, offset, length, ArrayBuffer, offset, length, where to begin, 1 to go backwards) -> where, or -1
static JSValue find_bytes(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  int64_t from;
  int backwards;
  size_t length, wanted;
  const uint8_t *bytes = range_of(ctx, argv, &length), *sought = bytes ? range_of(ctx, argv + 3, &wanted) : NULL;
  if (!sought || JS_ToInt64(ctx, &from, argv[6]) || JS_ToInt32(ctx, &backwards, argv[7])) return JS_EXCEPTION;
  if (wanted > length || from < 0) return JS_NewInt32(ctx, -1);
  if (!backwards) {
    if ((uint64_t)from > length - wanted) return JS_NewInt32(ctx, -1);
    const uint8_t *found = memmem(bytes + from, length - (size_t)from, sought, wanted);
    return JS_NewInt64(ctx, found ? found - bytes : -1);
  }
  int64_t at = from < (int64_t)(length - wanted) ? from : (int64_t)(length - wanted);
  while (at >= 0 && memcmp(bytes + at, sought, wanted)) at--;
  return JS_NewInt64(ctx, at);
}

// compareBytes(ArrayBuffer, offset, length, ArrayBuffer, offset, length) -> -1, 0 or 1
static JSValue compare_bytes(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  size_t length, other_length;
  const uint8_t *bytes = range_of(ctx, argv, &length), *other = bytes ? range_of(ctx, argv + 3, &other_length) : NULL;
  if (!other) return JS_EXCEPTION;
  int order = memcmp(bytes, other, length < other_length ? length : other_length);
  if (!order) order = length < other_length ? -1 : length > other_length;
  return JS_NewInt32(ctx, order < 0 ? -1 : order > 0);
}

static const JSCFunctionListEntry functions[] = {
  JS_CFUNC_DEF("textToBytes", 2, text_to_bytes),
  JS_CFUNC_DEF("bytesToText", 4, bytes_to_text),
  JS_CFUNC_DEF("findBytes", 8, find_bytes),
  JS_CFUNC_DEF("compareBytes", 6, compare_bytes),
};

void add_byte_functions(JSContext *ctx, JSValueConst native)
{
  JS_SetPropertyFunctionList(ctx, native, functions, sizeof functions / sizeof *functions);
}
