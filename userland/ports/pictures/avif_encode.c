// AVIF files, still and animated, by libaom. Each answer is libavif's result, where it is none that is well a text, and what there is to
// tell.

#include <stdlib.h>
#include <string.h>

#include "avif/avif.h"
#include "avif_orientation.h"
#include "frames.h"
#include "works.h"

static void answer(avifResult result, const char *doing, const avifRWData *data)
{
  write_number(result);
  if (result != AVIF_RESULT_OK) {
    const char *text = avifResultToString(result);
    write_number(strlen(doing) + 2 + strlen(text));
    write_bytes(doing, strlen(doing));
    write_bytes(": ", 2);
    write_bytes(text, strlen(text));
  } else if (data) {
    write_frame(data->data, data->size);
  }
  flush();
}

static char *need_text(void)
{
  struct bytes text = { 0 };
  need_frame(&text);
  append(&text, "", 1);
  return (char *)text.data;
}

static void need_settings(avifEncoder *encoder)
{
  encoder->codecChoice = AVIF_CODEC_CHOICE_AOM;
  encoder->maxThreads = 1;
  encoder->timescale = 1000;
  encoder->quality = encoder->qualityAlpha = need_number();
  encoder->speed = need_number();
  encoder->autoTiling = need_number() != 0;
  encoder->tileRowsLog2 = need_number();
  encoder->tileColsLog2 = need_number();
}

static avifResult need_metadata(avifImage *image)
{
  struct bytes icc = { 0 }, exif = { 0 }, xmp = { 0 };
  need_frame(&icc);
  need_frame(&exif);
  need_frame(&xmp);
  image->matrixCoefficients = AVIF_MATRIX_COEFFICIENTS_BT601;
  if (!icc.length) {  // a profile says it otherwise
    image->colorPrimaries = AVIF_COLOR_PRIMARIES_BT709;
    image->transferCharacteristics = AVIF_TRANSFER_CHARACTERISTICS_SRGB;
  }
  avifResult result = icc.length ? avifImageSetProfileICC(image, icc.data, icc.length) : AVIF_RESULT_OK;
  if (result == AVIF_RESULT_OK && exif.length) result = avifImageSetMetadataExif(image, exif.data, exif.length);
  if (result == AVIF_RESULT_OK && xmp.length) result = avifImageSetMetadataXMP(image, xmp.data, xmp.length);
  return result;
}

static avifResult need_options(avifEncoder *encoder)
{
  avifResult result = AVIF_RESULT_OK;
  for (int32_t i = 0, count = need_number(); i < count; i++) {
    const char *key = need_text(), *value = need_text();
    if (result == AVIF_RESULT_OK) result = avifEncoderSetCodecSpecificOption(encoder, key, value);
  }
  return result;
}

// What each frame is like, without its pixels.
static avifImage *need_image(avifResult *result)
{
  static const avifPixelFormat formats[] = { AVIF_PIXEL_FORMAT_YUV400, AVIF_PIXEL_FORMAT_YUV420, AVIF_PIXEL_FORMAT_YUV422,
                                             AVIF_PIXEL_FORMAT_YUV444 };
  int32_t width = need_number(), height = need_number();
  avifImage *image = avifImageCreate(width, height, 8, formats[need_number() & 3]);
  if (!image) exit(1);
  image->yuvRange = need_number() ? AVIF_RANGE_FULL : AVIF_RANGE_LIMITED;
  image->alphaPremultiplied = need_number() != 0;
  int32_t orientation = need_number();
  *result = need_metadata(image);
  set_orientation(image, orientation);
  return image;
}

// A frame: how long it is shown, channels, whether it is the only one; rows.
static void add_frame(avifEncoder *encoder, const avifImage *like)
{
  int32_t duration = need_number(), channels = need_number(), alone = need_number();
  size_t count = (size_t)like->width * like->height;
  avifImage *image = avifImageCreateEmpty();
  avifRGBImage rgb;
  if (!image || avifImageCopy(image, like, 0) != AVIF_RESULT_OK) exit(1);
  avifRGBImageSetDefaults(&rgb, image);
  rgb.depth = 8;
  rgb.format = channels == 4 ? AVIF_RGB_FORMAT_RGBA : AVIF_RGB_FORMAT_RGB;
  if (avifRGBImageAllocatePixels(&rgb) != AVIF_RESULT_OK) exit(1);
  read_exactly(rgb.pixels, count * channels);
  for (size_t i = count; channels == 1 && i--;) rgb.pixels[3 * i] = rgb.pixels[3 * i + 1] = rgb.pixels[3 * i + 2] = rgb.pixels[i];
  avifResult result = avifImageRGBToYUV(image, &rgb);
  avifRGBImageFreePixels(&rgb);
  if (result != AVIF_RESULT_OK) {
    answer(result, "Conversion to YUV failed", 0);
  } else {
    result = avifEncoderAddImage(encoder, image, duration, alone ? AVIF_ADD_IMAGE_FLAG_SINGLE : AVIF_ADD_IMAGE_FLAG_NONE);
    answer(result, "Failed to encode image", 0);
  }
  avifImageDestroy(image);
}

void encode_avif(void)
{
  avifResult metadata;
  avifImage *image = need_image(&metadata);
  avifEncoder *encoder = avifEncoderCreate();
  if (!encoder) return;
  need_settings(encoder);
  avifResult options = need_options(encoder);
  if (metadata != AVIF_RESULT_OK) answer(metadata, "Setting metadata failed", 0);
  else answer(options, "Setting advanced codec options failed", 0);
  int32_t command;
  while (read_number(&command) && command == 'f') add_frame(encoder, image);
  avifRWData file = AVIF_DATA_EMPTY;
  answer(avifEncoderFinish(encoder, &file), "Failed to finish encoding", &file);
}
