// Brotli, for node's zlib: one object a stream, as in host_zlib.c.
#include <brotli/decode.h>
#include <brotli/encode.h>
#include <stdlib.h>

#include "host.h"

struct stream {
  BrotliEncoderState *encoder;
  BrotliDecoderState *decoder;
};

static JSClassID stream_class;

static void close_stream(struct stream *stream)
{
  if (stream->encoder) BrotliEncoderDestroyInstance(stream->encoder);
  if (stream->decoder) BrotliDecoderDestroyInstance(stream->decoder);
  stream->encoder = NULL;
  stream->decoder = NULL;
}

static void free_stream(JSRuntime *runtime, JSValue value)
{
  struct stream *stream = JS_GetOpaque(value, stream_class);
  if (!stream) return;
  close_stream(stream);
  free(stream);
}

// brotliOpen(1 to unpack, [parameter, value, parameter, value ...]) -> a stream, or the number of a parameter that is wrong
static JSValue brotli_open(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  int unpacks;
  int64_t count;
  if (JS_ToInt32(ctx, &unpacks, argv[0]) || JS_GetLength(ctx, argv[1], &count)) return JS_EXCEPTION;
  struct stream *stream = calloc(1, sizeof *stream);
  if (!stream) return JS_ThrowOutOfMemory(ctx);
  if (unpacks) stream->decoder = BrotliDecoderCreateInstance(NULL, NULL, NULL);
  else stream->encoder = BrotliEncoderCreateInstance(NULL, NULL, NULL);
  JSValue object = stream->decoder || stream->encoder ? JS_NewObjectClass(ctx, stream_class) : JS_ThrowOutOfMemory(ctx);
  if (JS_IsException(object)) {
    close_stream(stream);
    free(stream);
    return object;
  }
  JS_SetOpaque(object, stream);
  for (int64_t i = 0; i + 1 < count; i += 2) {
    uint32_t pair[2];
    for (int j = 0; j < 2; j++) {
      JSValue word = JS_GetPropertyInt64(ctx, argv[1], i + j);
      JS_ToUint32(ctx, &pair[j], word);
      JS_FreeValue(ctx, word);
    }
    if (unpacks ? BrotliDecoderSetParameter(stream->decoder, pair[0], pair[1]) : BrotliEncoderSetParameter(stream->encoder, pair[0], pair[1])) continue;
    JS_FreeValue(ctx, object);
    return JS_NewInt32(ctx, (int)pair[0]);
  }
  return object;
}

// brotliStep(stream, buffer, offset, size, operation, most bytes of output) -> [status, bytes taken, output]: 0 for more to come, 1 at the end of the
// stream, a negative number for what is wrong
static JSValue brotli_step(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  struct stream *stream = JS_GetOpaque2(ctx, argv[0], stream_class);
  if (!stream) return JS_EXCEPTION;
  size_t whole;
  int64_t offset, size, most;
  int operation;
  uint8_t *bytes = JS_GetArrayBuffer(ctx, &whole, argv[1]);
  if (JS_ToInt64(ctx, &offset, argv[2]) || JS_ToInt64(ctx, &size, argv[3]) || JS_ToInt32(ctx, &operation, argv[4]) || JS_ToInt64(ctx, &most, argv[5])) return JS_EXCEPTION;
  if ((!stream->encoder && !stream->decoder) || offset < 0 || size < 0 || (uint64_t)offset > whole || (uint64_t)size > whole - (uint64_t)offset)
    return JS_ThrowRangeError(ctx, "no such bytes");
  const uint8_t *in = bytes + offset;
  size_t left = (size_t)size, room = 0, done = 0;
  uint8_t *out = NULL;
  int status = 0;
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
    uint8_t *next = out + done;
    size_t free_room = room - done;
    if (stream->decoder) {
      const BrotliDecoderResult result = BrotliDecoderDecompressStream(stream->decoder, &left, &in, &free_room, &next, NULL);
      done = room - free_room;
      if (result == BROTLI_DECODER_RESULT_ERROR) status = BrotliDecoderGetErrorCode(stream->decoder);
      else status = result == BROTLI_DECODER_RESULT_SUCCESS;
      if (result == BROTLI_DECODER_RESULT_NEEDS_MORE_OUTPUT && (int64_t)done <= most) continue;
      break;
    }
    const BROTLI_BOOL good = BrotliEncoderCompressStream(stream->encoder, (BrotliEncoderOperation)operation, &left, &in, &free_room, &next, NULL);
    done = room - free_room;
    status = !good ? -1 : BrotliEncoderIsFinished(stream->encoder);
    if (!good || (int64_t)done > most || (!left && !BrotliEncoderHasMoreOutput(stream->encoder))) break;
  }
  JSValue result = JS_NewArray(ctx);
  JS_SetPropertyUint32(ctx, result, 0, JS_NewInt32(ctx, status));
  JS_SetPropertyUint32(ctx, result, 1, JS_NewInt64(ctx, size - (int64_t)left));
  JS_SetPropertyUint32(ctx, result, 2, bytes_of(ctx, out, done));
  return result;
}

// brotliText(number) -> what the library calls this failure
static JSValue brotli_text(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  int number;
  if (JS_ToInt32(ctx, &number, argv[0])) return JS_EXCEPTION;
  return JS_NewString(ctx, BrotliDecoderErrorString((BrotliDecoderErrorCode)number));
}

static JSValue brotli_close(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  struct stream *stream = JS_GetOpaque2(ctx, argv[0], stream_class);
  if (!stream) return JS_EXCEPTION;
  close_stream(stream);
  return JS_UNDEFINED;
}

static const JSCFunctionListEntry functions[] = {
  JS_CFUNC_DEF("brotliOpen", 2, brotli_open),
  JS_CFUNC_DEF("brotliStep", 6, brotli_step),
  JS_CFUNC_DEF("brotliText", 1, brotli_text),
  JS_CFUNC_DEF("brotliClose", 1, brotli_close),
};

void add_brotli_functions(JSContext *ctx, JSValueConst native)
{
  static const JSClassDef definition = { "BrotliStream", .finalizer = free_stream };
  JSRuntime *runtime = JS_GetRuntime(ctx);
  JS_NewClassID(runtime, &stream_class);
  JS_NewClass(runtime, stream_class, &definition);
  JS_SetPropertyFunctionList(ctx, native, functions, sizeof functions / sizeof *functions);
}
