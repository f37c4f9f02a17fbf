// AVIF files, still and animated, by dav1d.

#include <stdlib.h>
#include <string.h>

#include "avif/avif.h"
#include "avif_orientation.h"
#include "frames.h"
#include "works.h"

static void put_blob(const avifRWData *blob)
{
  write_frame(blob->data, blob->size);
}

// 1 for gray, 3 and 4 for colours without alpha and with it.
static int channels_of(const avifDecoder *decoder)
{
  return decoder->alphaPresent ? 4 : decoder->image->yuvFormat == AVIF_PIXEL_FORMAT_YUV400 ? 1 : 3;
}

static void tell_about(const avifDecoder *decoder)
{
  const avifImage *image = decoder->image;
  write_number(image->width);
  write_number(image->height);
  write_number(decoder->imageCount);
  write_number(channels_of(decoder));
  write_number(orientation_of(image));
  put_blob(&image->icc);
  put_blob(&image->exif);
  put_blob(&image->xmp);
}

// Gray is converted as three equal colours.
static void keep_first_of_three(uint8_t *pixels, size_t count)
{
  for (size_t i = 0; i < count; i++) pixels[i] = pixels[3 * i];
}

static avifResult send_frame(const avifDecoder *decoder, size_t *length)
{
  int channels = channels_of(decoder);
  avifRGBImage rgb;
  avifRGBImageSetDefaults(&rgb, decoder->image);
  rgb.depth = 8;
  rgb.format = channels == 4 ? AVIF_RGB_FORMAT_RGBA : AVIF_RGB_FORMAT_RGB;
  avifResult result = avifRGBImageAllocatePixels(&rgb);
  if (result == AVIF_RESULT_OK) result = avifImageYUVToRGB(decoder->image, &rgb);
  if (result == AVIF_RESULT_OK) {
    const avifImageTiming *timing = &decoder->imageTiming;
    uint64_t times[] = { timing->timescale, timing->ptsInTimescales, timing->durationInTimescales };
    size_t count = (size_t)rgb.width * rgb.height;
    if (channels == 1) keep_first_of_three(rgb.pixels, count);
    *length = count * channels;
    write_number(AVIF_RESULT_OK);
    write_bytes(times, sizeof times);
    write_frame(rgb.pixels, *length);
  }
  avifRGBImageFreePixels(&rgb);
  return result;
}

// The frames from `first` on, as far as `most` bytes of pixels go, but one at least.
static avifResult send_frames(avifDecoder *decoder, int first, size_t most)
{
  size_t sent = 0, length = 0;
  avifResult result = avifDecoderNthImage(decoder, first);
  while (result == AVIF_RESULT_OK) {
    result = send_frame(decoder, &length);
    sent += length;
    if (result != AVIF_RESULT_OK || ++first >= decoder->imageCount || sent + length > most) break;
    result = avifDecoderNextImage(decoder);
  }
  return result;
}

void decode_avif(void)
{
  struct bytes file = { 0 };
  int32_t first = need_number(), most = need_number();
  need_frame(&file);
  avifDecoder *decoder = avifDecoderCreate();
  if (!decoder) return;
  decoder->codecChoice = AVIF_CODEC_CHOICE_DAV1D;
  decoder->maxThreads = 1;
  decoder->strictFlags &= ~(AVIF_STRICT_CLAP_VALID | AVIF_STRICT_PIXI_REQUIRED);  // as Pillow has it: such files are out there
  avifResult result = avifDecoderSetIOMemory(decoder, file.data, file.length);
  if (result == AVIF_RESULT_OK) result = avifDecoderParse(decoder);
  if (first < 0) {
    write_number(result);
    if (result == AVIF_RESULT_OK) tell_about(decoder);
  } else {
    if (result == AVIF_RESULT_OK) result = send_frames(decoder, first, most);
    if (result != AVIF_RESULT_OK) write_number(result);
  }
  if (result != AVIF_RESULT_OK) write_frame(avifResultToString(result), strlen(avifResultToString(result)));
  flush();
}
