// Takes numbers and names from the bytes of a module. What is wrong is said once: after that all that is taken is 0.
#pragma once

#include <stdarg.h>
#include <stdio.h>

#include "host_wasm.h"

typedef struct { const uint8_t *base, *at, *end; Problem *problem; } Reader;

__attribute__((format(printf, 2, 3))) static inline void fail(Reader *reader, const char *format, ...)
{
  if (reader->problem->failed) return;
  reader->problem->failed = true;
  reader->problem->at = (size_t)(reader->at - reader->base);
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(reader->problem->text, sizeof reader->problem->text, format, arguments);
  va_end(arguments);
  reader->at = reader->end;
}

static inline uint8_t take_byte(Reader *reader)
{
  if (reader->at < reader->end) return *reader->at++;
  fail(reader, "expected 1 byte");
  return 0;
}

// LEB128 of this many bits, which must have no bits beyond them.
static inline uint64_t take_leb(Reader *reader, unsigned bits, bool is_signed)
{
  uint64_t value = 0;
  for (unsigned shift = 0; shift < bits; shift += 7) {
    if (reader->at >= reader->end) {
      fail(reader, "expected more bytes of a LEB128");
      return 0;
    }
    const uint8_t byte = *reader->at++;
    const unsigned left = bits - shift;
    if (left < 7) {
      const uint8_t beyond = byte & (0x7f & (0xff << (is_signed ? left - 1 : left)));
      if ((byte & 0x80) || (beyond != 0 && (!is_signed || beyond != (0x7f & (0xff << (left - 1)))))) {
        reader->at--;
        fail(reader, byte & 0x80 ? "length overflow while decoding leb128" : "extra bits in varint");
        return 0;
      }
    }
    value |= (uint64_t)(byte & 0x7f) << shift;
    if (!(byte & 0x80)) {
      if (is_signed && (byte & 0x40) && shift + 7 < 64) value |= ~UINT64_C(0) << (shift + 7);
      return value;
    }
    if (left <= 7) fail(reader, "length overflow while decoding leb128");
  }
  return 0;
}

static inline uint32_t take_u32(Reader *reader)
{
  if (reader->at < reader->end && *reader->at < 0x80) return *reader->at++;
  return (uint32_t)take_leb(reader, 32, false);
}

static inline uint32_t take_below(Reader *reader, uint32_t count, const char *what)
{
  const uint32_t index = take_u32(reader);
  if (index < count || reader->problem->failed) return index;
  fail(reader, "%s index %u out of bounds (%u entries)", what, index, count);
  return 0;
}

static inline Bytes take_bytes(Reader *reader, uint32_t size)
{
  if (size > (size_t)(reader->end - reader->at)) {
    fail(reader, "expected %u bytes, fell off end", size);
    return (Bytes){ reader->at, reader->at };
  }
  reader->at += size;
  return (Bytes){ reader->at - size, reader->at };
}

static inline uint8_t take_type(Reader *reader)
{
  const uint8_t type = take_byte(reader);
  if ((type >= V128 && type <= I32) || is_reference(type)) return type;
  reader->at--;
  fail(reader, "invalid value type 0x%x", type);
  return I32;
}
