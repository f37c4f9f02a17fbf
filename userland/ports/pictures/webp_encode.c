// WebP files, still and animated. Each answer is an error's text, empty where all went well, and what there is to tell.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frames.h"
#include "src/webp/encode.h"
#include "src/webp/mux.h"
#include "works.h"

static float need_float(void)
{
  float number;
  read_exactly(&number, sizeof number);
  return number;
}

static void answer(const char *error, const void *data, size_t length)
{
  write_frame(error, strlen(error));
  write_frame(data, *error ? 0 : length);
  flush();
}

static const char *text_of(const WebPPicture *picture)
{
  static char text[96];
  const char *reason = picture->error_code == VP8_ENC_ERROR_BAD_DIMENSION ? ": Image size exceeds WebP limit of 16383 pixels"
                     : picture->error_code == VP8_ENC_ERROR_PARTITION0_OVERFLOW ? ": Partition #0 exceeds the size limit" : "";
  snprintf(text, sizeof text, "encoding error %d%s", picture->error_code, reason);
  return text;
}

// The rows are read in any case. False: there is no memory for the picture.
static bool read_picture(WebPPicture *picture, int width, int height, int channels)
{
  size_t stride = (size_t)width * channels;
  uint8_t *rows = need_memory(stride * height);
  read_exactly(rows, stride * height);
  picture->width = width;
  picture->height = height;
  picture->use_argb = 1;  // the encoder makes of it what it wants
  int done = channels == 4 ? WebPPictureImportRGBA(picture, rows, stride) : WebPPictureImportRGB(picture, rows, stride);
  free(rows);
  return done;
}

static void need_chunks(struct bytes *icc, struct bytes *exif, struct bytes *xmp)
{
  need_frame(icc);
  need_frame(exif);
  need_frame(xmp);
}

// The file with its chunks, where there are any.
static const char *with_chunks(WebPData *file, const struct bytes *icc, const struct bytes *exif, const struct bytes *xmp)
{
  const struct { const char *name; const struct bytes *content; } chunks[] = { { "ICCP", icc }, { "EXIF", exif }, { "XMP ", xmp } };
  if (!icc->length && !exif->length && !xmp->length) return "";
  WebPMux *mux = WebPMuxCreate(file, 1);
  if (!mux) return "could not re-mux to add metadata";
  for (size_t i = 0; i < sizeof chunks / sizeof *chunks; i++) {
    WebPData content = { chunks[i].content->data, chunks[i].content->length };
    if (content.size && WebPMuxSetChunk(mux, chunks[i].name, &content, 1) != WEBP_MUX_OK) return "could not set a chunk of the file";
  }
  return WebPMuxAssemble(mux, file) == WEBP_MUX_OK ? "" : "could not assemble the file";
}

void encode_webp(void)
{
  struct bytes icc = { 0 }, exif = { 0 }, xmp = { 0 };
  int32_t width = need_number(), height = need_number(), channels = need_number();
  int32_t lossless = need_number(), method = need_number(), exact = need_number();
  float quality = need_float(), alpha_quality = need_float();
  need_chunks(&icc, &exif, &xmp);
  WebPConfig config;
  WebPPicture picture;
  WebPMemoryWriter writer;
  WebPMemoryWriterInit(&writer);
  if (!WebPConfigInit(&config) || !WebPPictureInit(&picture)) return;
  config.lossless = lossless;
  config.quality = quality;
  config.alpha_quality = alpha_quality;
  config.method = method;
  config.exact = exact;
  if (!WebPValidateConfig(&config)) {
    read_to_end();
    answer("invalid configuration", 0, 0);
    return;
  }
  picture.writer = WebPMemoryWrite;
  picture.custom_ptr = &writer;
  if (!read_picture(&picture, width, height, channels) || !WebPEncode(&config, &picture)) {
    answer(text_of(&picture), 0, 0);
    return;
  }
  WebPData file = { writer.mem, writer.size };
  const char *error = with_chunks(&file, &icc, &exif, &xmp);
  answer(error, file.bytes, file.size);
}

// One frame of an animation: when it begins, and how it is encoded.
static const char *add_frame(WebPAnimEncoder *encoder, int width, int height)
{
  WebPConfig config;
  WebPPicture picture;
  int32_t timestamp = need_number(), lossless = need_number(), method = need_number(), channels = need_number();
  float quality = need_float(), alpha_quality = need_float();
  if (!WebPConfigInit(&config) || !WebPPictureInit(&picture)) return "could not initialize configuration";
  config.lossless = lossless;
  config.quality = quality;
  config.alpha_quality = alpha_quality;
  config.method = method;
  bool there = read_picture(&picture, width, height, channels);
  const char *error = !there ? text_of(&picture) : !WebPValidateConfig(&config) ? "invalid configuration" : "";
  if (!*error && !WebPAnimEncoderAdd(encoder, &picture, timestamp, &config)) error = WebPAnimEncoderGetError(encoder);
  WebPPictureFree(&picture);
  return error;
}

static void assemble(WebPAnimEncoder *encoder)
{
  struct bytes icc = { 0 }, exif = { 0 }, xmp = { 0 };
  WebPData file;
  WebPDataInit(&file);
  need_chunks(&icc, &exif, &xmp);
  if (!WebPAnimEncoderAssemble(encoder, &file)) {
    answer(WebPAnimEncoderGetError(encoder), 0, 0);
    return;
  }
  const char *error = with_chunks(&file, &icc, &exif, &xmp);
  answer(error, file.bytes, file.size);
}

void animate_webp(void)
{
  WebPAnimEncoderOptions options;
  if (!WebPAnimEncoderOptionsInit(&options)) return;
  int32_t width = need_number(), height = need_number();
  options.anim_params.bgcolor = need_number();
  options.anim_params.loop_count = need_number();
  options.minimize_size = need_number();
  options.kmin = need_number();
  options.kmax = need_number();
  options.allow_mixed = need_number();
  WebPAnimEncoder *encoder = WebPAnimEncoderNew(width, height, &options);
  answer(encoder ? "" : "could not create the encoder", 0, 0);
  int32_t command;
  while (encoder && read_number(&command)) {
    if (command == 'f') {
      answer(add_frame(encoder, width, height), 0, 0);
    } else if (command == 'e') {
      answer(WebPAnimEncoderAdd(encoder, 0, need_number(), 0) ? "" : WebPAnimEncoderGetError(encoder), 0, 0);
    } else {
      assemble(encoder);
      return;
    }
  }
}
