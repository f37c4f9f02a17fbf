// JPEG 2000 files: rows come in as Pillow has packed them, the file goes out when it is whole.

#include <stdlib.h>
#include <string.h>

#include "jpeg2000_stream.h"
#include "works.h"

// Bytes of a compressed frame of digital cinema, and of one of its components, at 24 and at 48 frames a second.
static const int cinema_frame[] = { 1302083, 651041 }, cinema_component[] = { 1041666, 520833 };

struct settings {
  int32_t width, height, components, bits, colours, is_signed;
  int32_t offset_x, offset_y, tile_offset_x, tile_offset_y, tile_width, tile_height;
  int32_t decibels, resolutions, block_width, block_height, precinct_width, precinct_height;
  int32_t irreversible, progression, cinema, mct, plt;
  struct bytes format, layers, comment;
};

static void read_settings(struct settings *wanted)
{
  int32_t *numbers = &wanted->width;
  need_frame(&wanted->format);
  for (size_t i = 0; i < offsetof(struct settings, format) / sizeof(int32_t); i++) numbers[i] = need_number();
  need_frame(&wanted->layers);
  need_frame(&wanted->comment);
}

static void set_layers(const struct settings *wanted, opj_cparameters_t *set)
{
  const size_t most = sizeof set->tcp_rates / sizeof *set->tcp_rates;
  size_t count = wanted->layers.length / sizeof(float);
  if (count > most) count = most;
  if (!count) {
    set->tcp_numlayers = 1;
    set->tcp_rates[0] = 0;
    set->cp_disto_alloc = 1;
    return;
  }
  set->tcp_numlayers = count;
  set->cp_fixed_quality = wanted->decibels;
  set->cp_disto_alloc = !wanted->decibels;
  memcpy(wanted->decibels ? set->tcp_distoratio : set->tcp_rates, wanted->layers.data, count * sizeof(float));
}

static void set_blocks(const struct settings *wanted, opj_cparameters_t *set)
{
  int32_t width = wanted->block_width, height = wanted->block_height;
  if (width >= 4 && width <= 1024 && height >= 4 && height <= 1024 && width * height <= 4096) {
    set->cblockw_init = width;
    set->cblockh_init = height;
  }
  if (wanted->precinct_width >= 4 && wanted->precinct_height >= 4 && wanted->precinct_width >= width && wanted->precinct_height > height) {
    set->prcw_init[0] = wanted->precinct_width;
    set->prch_init[0] = wanted->precinct_height;
    set->res_spec = 1;
    set->csty |= 1;
  }
}

// What digital cinema prescribes.
static void set_cinema(const struct settings *wanted, opj_cparameters_t *set)
{
  bool slow = set->cp_cinema != OPJ_CINEMA2K_48;
  int frame = cinema_frame[slow ? 0 : 1];
  float size = (float)wanted->components * wanted->width * wanted->height, most = size / frame;
  set->cp_rsiz = set->cp_cinema == OPJ_CINEMA4K_24 ? OPJ_CINEMA4K : OPJ_CINEMA2K;
  int resolutions = set->cp_cinema == OPJ_CINEMA4K_24 ? 7 : 6;
  if (set->numresolution > resolutions) set->numresolution = resolutions;
  set->tile_size_on = OPJ_FALSE;
  set->cp_tdx = set->cp_tdy = 1;
  set->tp_flag = 'C';
  set->tp_on = 1;
  set->cp_tx0 = set->cp_ty0 = set->image_offset_x0 = set->image_offset_y0 = 0;
  set->cblockw_init = set->cblockh_init = 32;
  set->csty |= 1;
  set->prog_order = OPJ_CPRL;
  set->roi_compno = -1;
  set->irreversible = 1;
  set->max_comp_size = cinema_component[slow ? 0 : 1];
  for (int i = 0; i < set->tcp_numlayers; i++)
    if (!set->tcp_rates[0] || size / set->tcp_rates[i] > frame) set->tcp_rates[i] = most;
  if (set->cp_cinema != OPJ_CINEMA4K_24) return;
  set->numpocs = 2;
  for (int i = 0; i < 2; i++)
    set->POC[i] = (opj_poc_t){ .tile = 1, .layno1 = 1, .resno1 = set->numresolution - 1, .compno1 = 3, .prg1 = OPJ_CPRL };
}

static void set_parameters(const struct settings *wanted, opj_cparameters_t *set)
{
  opj_set_default_encoder_parameters(set);
  set->image_offset_x0 = wanted->offset_x;
  set->image_offset_y0 = wanted->offset_y;
  if (wanted->tile_width && wanted->tile_height) {
    set->tile_size_on = OPJ_TRUE;
    set->cp_tx0 = wanted->tile_offset_x;
    set->cp_ty0 = wanted->tile_offset_y;
    set->cp_tdx = wanted->tile_width;
    set->cp_tdy = wanted->tile_height;
  }
  set_layers(wanted, set);
  if (wanted->resolutions) set->numresolution = wanted->resolutions;
  set_blocks(wanted, set);
  set->irreversible = wanted->irreversible;
  set->prog_order = wanted->progression;
  set->cp_cinema = wanted->cinema;
  set->tcp_mct = wanted->mct;
  if (wanted->comment.length) set->cp_comment = (char *)wanted->comment.data;
  if (set->cp_cinema != OPJ_OFF) set_cinema(wanted, set);
}

static opj_image_t *read_image(const struct settings *wanted)
{
  opj_image_cmptparm_t parts[4];
  memset(parts, 0, sizeof parts);
  for (int i = 0; i < wanted->components; i++) {
    parts[i].dx = parts[i].dy = 1;
    parts[i].w = wanted->width;
    parts[i].h = wanted->height;
    parts[i].prec = wanted->bits;
    parts[i].sgnd = wanted->is_signed;
  }
  static const OPJ_COLOR_SPACE spaces[] = { OPJ_CLRSPC_SRGB, OPJ_CLRSPC_SYCC, OPJ_CLRSPC_CMYK };
  OPJ_COLOR_SPACE space = wanted->components < 3 ? OPJ_CLRSPC_GRAY : spaces[wanted->colours];
  opj_image_t *image = opj_image_create(wanted->components, parts, space);
  if (!image) return 0;
  size_t bytes = wanted->bits / 8, length = (size_t)wanted->width * wanted->components * bytes;
  uint8_t *row = need_memory(length);
  int32_t low = wanted->is_signed ? 1 << (wanted->bits - 1) : 0;
  for (size_t y = 0; y < (size_t)wanted->height; y++) {
    read_exactly(row, length);
    const uint8_t *at = row;
    for (size_t x = 0; x < (size_t)wanted->width; x++)
      for (int i = 0; i < wanted->components; i++, at += bytes) {
        int32_t sample = bytes == 2 ? at[0] | at[1] << 8 : at[0];
        // A signed sample is the same bits, read with their sign.
        image->comps[i].data[y * wanted->width + x] = sample >= low && low ? sample - 2 * low : sample;
      }
  }
  free(row);
  image->x0 = wanted->offset_x;
  image->y0 = wanted->offset_y;
  image->x1 = wanted->offset_x + wanted->width;
  image->y1 = wanted->offset_y + wanted->height;
  return image;
}

static bool encode(const struct settings *wanted, struct memory_stream *file)
{
  static const char *const packet_lengths[] = { "PLT=YES", 0 };
  opj_cparameters_t set;
  set_parameters(wanted, &set);
  opj_image_t *image = read_image(wanted);
  opj_codec_t *codec = opj_create_compress(format_named(&wanted->format));
  opj_stream_t *stream = open_memory_stream(file, OPJ_FALSE);
  if (!image || !codec || !stream || !opj_setup_encoder(codec, &set, image)) return false;
  if (wanted->plt && !opj_encoder_set_extra_options(codec, packet_lengths)) return false;
  bool well = opj_start_compress(codec, image, stream) && opj_encode(codec, stream) && opj_end_compress(codec, stream);
  opj_stream_destroy(stream);
  return well;
}

void encode_jpeg2000(void)
{
  struct settings wanted = { 0 };
  struct memory_stream file = { 0 };
  read_settings(&wanted);
  append(&wanted.comment, "", 1);
  wanted.comment.length--;
  bool known = wanted.width > 0 && wanted.height > 0 && wanted.components > 0 && wanted.components <= 4 && (wanted.bits == 8 || wanted.bits == 16) &&
               wanted.colours >= 0 && wanted.colours <= 2;
  bool well = known && encode(&wanted, &file);
  read_to_end();
  write_number(well ? ENDED_WELL : ENDED_BROKEN);
  write_frame(file.content.data, well ? file.content.length : 0);
  flush();
}
