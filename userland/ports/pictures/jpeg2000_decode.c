// JPEG 2000 files: their components as samples of 8 or 16 bits, side by side.

#include <stdlib.h>
#include <string.h>

#include "jpeg2000_stream.h"
#include "works.h"

#define MOST_COMPONENTS 4

// A sample without its sign, in as many bits as are wanted.
static uint32_t scaled(const opj_image_comp_t *part, int32_t sample, unsigned bits)
{
  uint32_t most = (1u << bits) - 1;
  int64_t value = (int64_t)sample + (part->sgnd ? (int64_t)1 << (part->prec - 1) : 0);
  if (value < 0) value = 0;
  if (part->prec <= bits) value <<= bits - part->prec;
  else value = (value + ((int64_t)1 << (part->prec - bits - 1))) >> (part->prec - bits);
  return value > most ? most : (uint32_t)value;
}

static int32_t sample_at(const opj_image_t *image, unsigned which, uint32_t x, uint32_t y)
{
  const opj_image_comp_t *part = &image->comps[which], *first = &image->comps[0];
  uint32_t column = (uint64_t)x * first->dx / part->dx, row = (uint64_t)y * first->dy / part->dy;
  if (column >= part->w) column = part->w - 1;
  if (row >= part->h) row = part->h - 1;
  return part->data[(size_t)row * part->w + column];
}

static bool is_whole(const opj_image_t *image)
{
  if (!image || !image->numcomps || image->numcomps > MOST_COMPONENTS) return false;
  for (unsigned i = 0; i < image->numcomps; i++) {
    const opj_image_comp_t *part = &image->comps[i];
    if (!part->data || !part->w || !part->h || !part->dx || !part->dy || part->prec < 1 || part->prec > 31) return false;
  }
  return true;
}

static bool is_subsampled(const opj_image_t *image)
{
  for (unsigned i = 1; i < image->numcomps; i++)
    if (image->comps[i].dx != image->comps[0].dx || image->comps[i].dy != image->comps[0].dy) return true;
  return false;
}

static bool is_ycbcr(const opj_image_t *image)
{
  if (image->color_space == OPJ_CLRSPC_SYCC) return true;
  return image->color_space <= OPJ_CLRSPC_UNSPECIFIED && image->numcomps == 3 && is_subsampled(image);
}

static void send_image(const opj_image_t *image, unsigned bits)
{
  uint32_t width = image->comps[0].w, height = image->comps[0].h;
  size_t length = (size_t)width * image->numcomps * (bits / 8);
  uint8_t *row = need_memory(length);
  write_number(width);
  write_number(height);
  write_number(image->numcomps);
  write_number(is_ycbcr(image));
  for (uint32_t y = 0; y < height; y++) {
    uint8_t *at = row;
    for (uint32_t x = 0; x < width; x++)
      for (unsigned i = 0; i < image->numcomps; i++) {
        uint32_t sample = scaled(&image->comps[i], sample_at(image, i, x, y), bits);
        *at++ = sample;
        if (bits == 16) *at++ = sample >> 8;
      }
    write_bytes(row, length);
  }
  free(row);
}

void decode_jpeg2000(void)
{
  struct memory_stream file = { 0 };
  struct bytes format = { 0 };
  opj_dparameters_t wanted;
  opj_image_t *image = 0;
  opj_set_default_decoder_parameters(&wanted);
  need_frame(&format);
  wanted.cp_reduce = need_number();
  wanted.cp_layer = need_number();
  int32_t most = need_number(), bits = need_number();
  need_frame(&file.content);
  opj_stream_t *stream = open_memory_stream(&file, OPJ_TRUE);
  opj_codec_t *codec = opj_create_decompress(format_named(&format));
  wanted.flags |= OPJ_DPARAMETERS_IGNORE_PCLR_CMAP_CDEF_FLAG;  // the palette is Pillow's matter
  bool well = stream && codec && opj_setup_decoder(codec, &wanted) && opj_read_header(stream, codec, &image);
  // The header within says how large the picture is: no larger than the one that Pillow has made room for.
  well = well && image->x1 > image->x0 && image->y1 > image->y0 && (image->x1 - image->x0) <= (uint32_t)most / (image->y1 - image->y0);
  well = well && opj_decode(codec, stream, image) && opj_end_decompress(codec, stream) && is_whole(image);
  write_number(well ? ENDED_WELL : ENDED_BROKEN);
  if (well) send_image(image, bits == 16 ? 16 : 8);
  flush();
}
