// WebP files, still and animated.

#include <stdlib.h>
#include <string.h>

#include "frames.h"
#include "src/webp/decode.h"
#include "src/webp/demux.h"
#include "works.h"

static void put_chunk(const WebPDemuxer *file, const char *name)
{
  WebPChunkIterator found;
  if (WebPDemuxGetChunk(file, name, 1, &found)) {
    write_number(1);
    write_frame(found.chunk.bytes, found.chunk.size);
    WebPDemuxReleaseChunkIterator(&found);
  } else {
    write_number(0);
  }
}

static bool tell_about(const WebPData *data, WebPAnimDecoder *decoder)
{
  WebPAnimInfo info;
  WebPBitstreamFeatures features;
  if (!WebPAnimDecoderGetInfo(decoder, &info)) return false;
  bool alpha = WebPGetFeatures(data->bytes, data->size, &features) == VP8_STATUS_OK && features.has_alpha;
  write_number(1);
  write_number(info.canvas_width);
  write_number(info.canvas_height);
  write_number(info.loop_count);
  write_number(info.bgcolor);
  write_number(info.frame_count);
  write_number(alpha);
  const WebPDemuxer *file = WebPAnimDecoderGetDemuxer(decoder);
  put_chunk(file, "ICCP");
  put_chunk(file, "EXIF");
  put_chunk(file, "XMP ");
  return true;
}

// The frames from `first` on, as far as `most` bytes of pixels go, but one at least. False: one is broken.
static bool send_frames(WebPAnimDecoder *decoder, int first, size_t most)
{
  WebPAnimInfo info;
  if (!WebPAnimDecoderGetInfo(decoder, &info)) return false;
  size_t length = (size_t)info.canvas_width * info.canvas_height * 4, sent = 0;
  for (int i = 0; WebPAnimDecoderHasMoreFrames(decoder); i++) {
    uint8_t *pixels;
    int timestamp;
    if (!WebPAnimDecoderGetNext(decoder, &pixels, &timestamp)) return false;
    if (i < first) continue;
    write_number(1);
    write_number(timestamp);
    write_frame(pixels, length);
    sent += length;
    if (sent + length > most) return true;
  }
  return true;
}

void decode_webp(void)
{
  struct bytes file = { 0 };
  int32_t first = need_number(), most = need_number();
  need_frame(&file);
  WebPData data = { file.data, file.length };
  WebPAnimDecoderOptions options;
  WebPAnimDecoder *decoder = 0;
  if (WebPAnimDecoderOptionsInit(&options)) {
    options.color_mode = MODE_RGBA;
    decoder = WebPAnimDecoderNew(&data, &options);
  }
  if (first >= 0) write_number(decoder && send_frames(decoder, first, most) ? 0 : -1);
  else if (!decoder || !tell_about(&data, decoder)) write_number(0);
  flush();
}
