// Compression, for node's zlib: one object a stream, which takes pieces and gives what comes out.
#include <stdlib.h>
#include <zlib.h>

#include "host.h"

struct packer {
  z_stream stream;
  int unpacks;
  int open;
};

static JSClassID packer_class;

static void close_packer(struct packer *packer)
{
  if (!packer->open) return;
  packer->open = 0;
  if (packer->unpacks) inflateEnd(&packer->stream);
  else deflateEnd(&packer->stream);
}

static void free_packer(JSRuntime *runtime, JSValue value)
{
  struct packer *packer = JS_GetOpaque(value, packer_class);
  if (!packer) return;
  close_packer(packer);
  free(packer);
}

// zlibOpen(1 to unpack, level, window bits, memory level, strategy) -> a stream, or zlib's number of what is wrong
static JSValue zlib_open(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  int words[5];
  for (int i = 0; i < 5; i++)
    if (JS_ToInt32(ctx, &words[i], argv[i])) return JS_EXCEPTION;
  struct packer *packer = calloc(1, sizeof *packer);
  if (!packer) return JS_ThrowOutOfMemory(ctx);
  packer->unpacks = words[0];
  const int status = words[0] ? inflateInit2(&packer->stream, words[2])
                              : deflateInit2(&packer->stream, words[1], Z_DEFLATED, words[2], words[3], words[4]);
  if (status != Z_OK) {
    free(packer);
    return JS_NewInt32(ctx, status);
  }
  packer->open = 1;
  JSValue object = JS_NewObjectClass(ctx, packer_class);
  if (JS_IsException(object)) {
    close_packer(packer);
    free(packer);
    return object;
  }
  JS_SetOpaque(object, packer);
  return object;
}

// zlibStep(stream, buffer, offset, size, flush, most bytes of output) -> [status, bytes taken, output]: until it has taken all, ended or failed
static JSValue zlib_step(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  struct packer *packer = JS_GetOpaque2(ctx, argv[0], packer_class);
  if (!packer) return JS_EXCEPTION;
  size_t whole;
  int64_t offset, size, most;
  int flush;
  uint8_t *bytes = JS_GetArrayBuffer(ctx, &whole, argv[1]);
  if (JS_ToInt64(ctx, &offset, argv[2]) || JS_ToInt64(ctx, &size, argv[3]) || JS_ToInt32(ctx, &flush, argv[4]) || JS_ToInt64(ctx, &most, argv[5])) return JS_EXCEPTION;
  if (!packer->open || offset < 0 || size < 0 || (uint64_t)offset + (uint64_t)size > whole) return JS_ThrowRangeError(ctx, "no such bytes");
  z_stream *stream = &packer->stream;
  stream->next_in = bytes + offset;
  stream->avail_in = (uInt)size;
  size_t room = 0, done = 0;
  uint8_t *out = NULL;
  int status = Z_OK;
  for (;;) {
    if (done == room) {
      room = room ? room * 2 : 16384;
      uint8_t *grown = realloc(out, room);
      if (!grown) {
        free(out);
        return JS_ThrowOutOfMemory(ctx);
      }
      out = grown;
    }
    stream->next_out = out + done;
    stream->avail_out = (uInt)(room - done);
    status = packer->unpacks ? inflate(stream, flush) : deflate(stream, flush);
    done = room - stream->avail_out;
    // There is more only where the room was too small.
    if ((status != Z_OK && status != Z_BUF_ERROR) || stream->avail_out || (int64_t)done > most) break;
  }
  const int64_t taken = size - stream->avail_in;
  JSValue result = JS_NewArray(ctx);
  JS_SetPropertyUint32(ctx, result, 0, JS_NewInt32(ctx, status));
  JS_SetPropertyUint32(ctx, result, 1, JS_NewInt64(ctx, taken));
  JS_SetPropertyUint32(ctx, result, 2, bytes_of(ctx, out, done));
  return result;
}

// zlibText(stream) -> what zlib says of its last failure
static JSValue zlib_text(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  struct packer *packer = JS_GetOpaque2(ctx, argv[0], packer_class);
  if (!packer) return JS_EXCEPTION;
  return JS_NewString(ctx, packer->open && packer->stream.msg ? packer->stream.msg : "");
}

// zlibReset(stream): the next member begins
static JSValue zlib_reset(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  struct packer *packer = JS_GetOpaque2(ctx, argv[0], packer_class);
  if (!packer) return JS_EXCEPTION;
  if (!packer->open) return JS_ThrowTypeError(ctx, "the stream is closed");
  return JS_NewInt32(ctx, packer->unpacks ? inflateReset(&packer->stream) : deflateReset(&packer->stream));
}

// zlibParams(stream, level, strategy) -> zlib's number: how what comes from here on is compressed
static JSValue zlib_params(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  struct packer *packer = JS_GetOpaque2(ctx, argv[0], packer_class);
  int level, strategy;
  if (!packer || JS_ToInt32(ctx, &level, argv[1]) || JS_ToInt32(ctx, &strategy, argv[2])) return JS_EXCEPTION;
  if (!packer->open || packer->unpacks) return JS_ThrowTypeError(ctx, "the stream does not compress");
  // Nothing waits within: the stream was flushed.
  packer->stream.next_in = NULL;
  packer->stream.avail_in = 0;
  uint8_t room[64];
  packer->stream.next_out = room;
  packer->stream.avail_out = sizeof room;
  return JS_NewInt32(ctx, deflateParams(&packer->stream, level, strategy));
}

static JSValue zlib_close(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  struct packer *packer = JS_GetOpaque2(ctx, argv[0], packer_class);
  if (!packer) return JS_EXCEPTION;
  close_packer(packer);
  return JS_UNDEFINED;
}

// zlibCrc(buffer, offset, size, before) -> the checksum
static JSValue zlib_crc(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  size_t whole;
  int64_t offset, size;
  uint32_t before;
  uint8_t *bytes = JS_GetArrayBuffer(ctx, &whole, argv[0]);
  if (JS_ToInt64(ctx, &offset, argv[1]) || JS_ToInt64(ctx, &size, argv[2]) || JS_ToUint32(ctx, &before, argv[3])) return JS_EXCEPTION;
  if (offset < 0 || size < 0 || (uint64_t)offset + (uint64_t)size > whole) return JS_ThrowRangeError(ctx, "no such bytes");
  return JS_NewUint32(ctx, (uint32_t)crc32(before, bytes + offset, (uInt)size));
}

static const JSCFunctionListEntry functions[] = {
  JS_CFUNC_DEF("zlibOpen", 5, zlib_open),
  JS_CFUNC_DEF("zlibStep", 6, zlib_step),
  JS_CFUNC_DEF("zlibText", 1, zlib_text),
  JS_CFUNC_DEF("zlibReset", 1, zlib_reset),
  JS_CFUNC_DEF("zlibParams", 3, zlib_params),
  JS_CFUNC_DEF("zlibClose", 1, zlib_close),
  JS_CFUNC_DEF("zlibCrc", 4, zlib_crc),
};

void add_zlib_functions(JSContext *ctx, JSValueConst native)
{
  static const JSClassDef definition = { "Packer", .finalizer = free_packer };
  JSRuntime *runtime = JS_GetRuntime(ctx);
  JS_NewClassID(runtime, &packer_class);
  JS_NewClass(runtime, packer_class, &definition);
  JS_SetPropertyFunctionList(ctx, native, functions, sizeof functions / sizeof *functions);
}
