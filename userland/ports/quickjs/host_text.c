// Texts of bytes: UTF-8 as the web reads it, and the encodings from before it, by the tables of the C library.
#define _GNU_SOURCE
#include <errno.h>
#include <iconv.h>
#include <stdlib.h>
#include <string.h>

#include "host.h"

// How many bytes belong together at `at`, and whether they are a character.
static size_t sequence_at(const uint8_t *at, size_t left, int *is_valid)
{
  const uint8_t first = *at;
  uint8_t least = 0x80, most = 0xbf;
  size_t wanted;
  *is_valid = first < 0x80;
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first <= 0xdf) wanted = 2;
  else if (first >= 0xe0 && first <= 0xef) wanted = 3;
  else if (first >= 0xf0 && first <= 0xf4) wanted = 4;
  else return 1;
  if (first == 0xe0) least = 0xa0;
  if (first == 0xed) most = 0x9f;
  if (first == 0xf0) least = 0x90;
  if (first == 0xf4) most = 0x8f;
  for (size_t i = 1; i < wanted; i++) {
    if (i == left || at[i] < least || at[i] > most) return i;
    least = 0x80;
    most = 0xbf;
  }
  *is_valid = 1;
  return wanted;
}

JSValue text_of_bytes(JSContext *ctx, const uint8_t *bytes, size_t size)
{
  static const char replacement[3] = { (char)0xef, (char)0xbf, (char)0xbd };
  size_t at = 0, wrong = 0;
  int is_valid;
  while (at < size) {
    at += sequence_at(bytes + at, size - at, &is_valid);
    wrong += !is_valid;
  }
  if (!wrong) return JS_NewStringLen(ctx, (const char *)bytes, size);
  char *text = malloc(size + wrong * sizeof replacement);
  if (!text) return JS_ThrowOutOfMemory(ctx);
  size_t used = 0;
  for (at = 0; at < size;) {
    const size_t count = sequence_at(bytes + at, size - at, &is_valid);
    const size_t written = is_valid ? count : sizeof replacement;
    memcpy(text + used, is_valid ? (const char *)bytes + at : replacement, written);
    used += written;
    at += count;
  }
  JSValue result = JS_NewStringLen(ctx, text, used);
  free(text);
  return result;
}

// legacyText(name of the C library, buffer, offset, length) -> [text, bytes at the end that are the beginning of a character, how many were none],
// or undefined where there is no such encoding
static JSValue legacy_text(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  size_t whole;
  int64_t offset, length;
  uint8_t *bytes = JS_GetArrayBuffer(ctx, &whole, argv[1]);
  if (!bytes && whole) return JS_EXCEPTION;
  if (JS_ToInt64(ctx, &offset, argv[2]) || JS_ToInt64(ctx, &length, argv[3])) return JS_EXCEPTION;
  if (offset < 0 || length < 0 || (uint64_t)offset > whole || (uint64_t)length > whole - (uint64_t)offset) return JS_ThrowRangeError(ctx, "the range is outside of the buffer");
  const char *name = JS_ToCString(ctx, argv[0]);
  if (!name) return JS_EXCEPTION;
  iconv_t converter = iconv_open("UTF-8", name);
  JS_FreeCString(ctx, name);
  if (converter == (iconv_t)-1) return JS_UNDEFINED;
  // No character of theirs is more than four bytes for each of its own.
  char *text = malloc(4 * (size_t)length + 4);
  if (!text) {
    iconv_close(converter);
    return JS_ThrowOutOfMemory(ctx);
  }
  char *in = (char *)bytes + offset, *out = text;
  size_t left = (size_t)length, room = 4 * (size_t)length + 4, wrong = 0;
  while (left && iconv(converter, &in, &left, &out, &room) == (size_t)-1 && errno == EILSEQ) {
    memcpy(out, "\xef\xbf\xbd", 3);
    out += 3;
    room -= 3;
    // What could be ASCII is read again.
    const size_t count = left > 1 && (uint8_t)in[0] >= 0x80 && (uint8_t)in[1] >= 0x80 ? 2 : 1;
    in += count;
    left -= count;
    wrong++;
  }
  iconv_close(converter);
  JSValue array = JS_NewArray(ctx);
  JS_SetPropertyUint32(ctx, array, 0, JS_NewStringLen(ctx, text, (size_t)(out - text)));
  JS_SetPropertyUint32(ctx, array, 1, JS_NewInt64(ctx, (int64_t)left));
  JS_SetPropertyUint32(ctx, array, 2, JS_NewInt64(ctx, (int64_t)wrong));
  free(text);
  return array;
}

static const JSCFunctionListEntry functions[] = {
  JS_CFUNC_DEF("legacyText", 4, legacy_text),
};

void add_text_functions(JSContext *ctx, JSValueConst native)
{
  JS_SetPropertyFunctionList(ctx, native, functions, sizeof functions / sizeof *functions);
}
