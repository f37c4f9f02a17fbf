// JPEG files: rows come in as Pillow has packed them, the file goes out when it is whole.

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frames.h"
#include "jpeglib.h"
#include "works.h"

enum { AS_GRAY, AS_RGB, AS_YCBCR, AS_CMYK };

struct settings {
  int32_t width, height, components, colours;
  int32_t quality, progressive, smooth, optimize, keep_rgb, streamtype, xdpi, ydpi, subsampling, restart_blocks, restart_rows;
  struct bytes tables, comment, extra, exif;
};

struct encoder {
  struct jpeg_compress_struct jpeg;
  struct jpeg_error_mgr errors;
  struct jpeg_destination_mgr to;
  jmp_buf broken;
  struct settings wanted;
  struct bytes file;
  uint8_t room[1 << 16];
};

static void on_error(j_common_ptr jpeg)
{
  struct encoder *self = jpeg->client_data;
  longjmp(self->broken, 1);
}

static void say_nothing(j_common_ptr jpeg)
{
  (void)jpeg;
}

static void empty_room(struct encoder *self)
{
  self->to.next_output_byte = self->room;
  self->to.free_in_buffer = sizeof self->room;
}

static void begin(j_compress_ptr jpeg)
{
  empty_room(jpeg->client_data);
}

static boolean room_is_full(j_compress_ptr jpeg)
{
  struct encoder *self = jpeg->client_data;
  append(&self->file, self->room, sizeof self->room);
  empty_room(self);
  return TRUE;
}

static void take_what_is_there(j_compress_ptr jpeg)
{
  struct encoder *self = jpeg->client_data;
  append(&self->file, self->room, sizeof self->room - self->to.free_in_buffer);
  empty_room(self);
}

static void read_settings(struct settings *wanted)
{
  int32_t *numbers[] = {
    &wanted->width, &wanted->height, &wanted->components, &wanted->colours, &wanted->quality, &wanted->progressive, &wanted->smooth,
    &wanted->optimize, &wanted->keep_rgb, &wanted->streamtype, &wanted->xdpi, &wanted->ydpi, &wanted->subsampling,
    &wanted->restart_blocks, &wanted->restart_rows,
  };
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) *numbers[i] = need_number();
  need_frame(&wanted->tables);
  need_frame(&wanted->comment);
  need_frame(&wanted->extra);
  need_frame(&wanted->exif);
}

// Tables of the caller's own, one for each component as far as they go; the last one serves for the others.
static void set_tables(struct encoder *self)
{
  struct settings *wanted = &self->wanted;
  int count = wanted->tables.length / (2 * DCTSIZE2), last = count - 1;
  int scale = jpeg_quality_scaling(wanted->quality == -1 ? 50 : wanted->quality);
  for (int i = 0; i < count || i < 2; i++) {
    unsigned table[DCTSIZE2];
    int from = i < count ? i : last;
    for (int k = 0; k < DCTSIZE2; k++) {
      const uint8_t *at = wanted->tables.data + 2 * (from * DCTSIZE2 + k);
      table[k] = at[0] | at[1] << 8;
    }
    jpeg_add_quant_table(&self->jpeg, i, table, scale, wanted->quality != -1);
  }
  for (int i = 0; i < self->jpeg.num_components; i++) self->jpeg.comp_info[i].quant_tbl_no = i < last ? i : last;
}

static void set_subsampling(struct encoder *self)
{
  static const int across[] = { 1, 2, 2 }, down[] = { 1, 1, 2 };
  int which = self->wanted.subsampling;
  if (which < 0 || which > 2) return;
  for (int i = 0; i < 3 && i < MAX_COMPONENTS; i++) {
    self->jpeg.comp_info[i].h_samp_factor = i ? 1 : across[which];
    self->jpeg.comp_info[i].v_samp_factor = i ? 1 : down[which];
  }
}

// False where the settings contradict each other.
static bool configure(struct encoder *self)
{
  static const J_COLOR_SPACE spaces[] = { JCS_GRAYSCALE, JCS_RGB, JCS_YCbCr, JCS_CMYK };
  struct settings *wanted = &self->wanted;
  self->jpeg.image_width = wanted->width;
  self->jpeg.image_height = wanted->height;
  self->jpeg.input_components = wanted->components;
  self->jpeg.in_color_space = spaces[wanted->colours];
  jpeg_set_defaults(&self->jpeg);
  if (wanted->keep_rgb && wanted->colours == AS_RGB) {
    if (wanted->subsampling != -1 && wanted->subsampling != 0) return false;
    jpeg_set_colorspace(&self->jpeg, JCS_RGB);
  }
  if (wanted->tables.length) set_tables(self);
  else if (wanted->quality != -1) jpeg_set_quality(&self->jpeg, wanted->quality, TRUE);
  set_subsampling(self);
  if (wanted->progressive) jpeg_simple_progression(&self->jpeg);
  self->jpeg.smoothing_factor = wanted->smooth;
  self->jpeg.optimize_coding = wanted->optimize != 0;
  self->jpeg.restart_interval = wanted->restart_blocks;
  self->jpeg.restart_in_rows = wanted->restart_rows;
  if (wanted->xdpi > 0 && wanted->ydpi > 0) {
    self->jpeg.write_JFIF_header = TRUE;
    self->jpeg.density_unit = 1;
    self->jpeg.X_density = wanted->xdpi;
    self->jpeg.Y_density = wanted->ydpi;
  }
  return true;
}

static void write_markers(struct encoder *self)
{
  struct settings *wanted = &self->wanted;
  if (wanted->exif.length) jpeg_write_marker(&self->jpeg, JPEG_APP0 + 1, wanted->exif.data, wanted->exif.length);
  if (wanted->extra.length && wanted->streamtype != 2) {
    take_what_is_there(&self->jpeg);
    append(&self->file, wanted->extra.data, wanted->extra.length);
  }
  if (wanted->comment.length) jpeg_write_marker(&self->jpeg, JPEG_COM, wanted->comment.data, wanted->comment.length);
}

static void write_rows(struct encoder *self)
{
  size_t length = (size_t)self->wanted.width * self->wanted.components;
  uint8_t *row = need_memory(length);
  while (self->jpeg.next_scanline < self->jpeg.image_height) {
    read_exactly(row, length);
    jpeg_write_scanlines(&self->jpeg, &row, 1);
  }
  free(row);
}

static int32_t encode(struct encoder *self)
{
  if (setjmp(self->broken)) return ENDED_BROKEN;
  jpeg_create_compress(&self->jpeg);
  self->jpeg.client_data = self;
  self->jpeg.dest = &self->to;
  if (!configure(self)) return ENDED_CONFIG;
  if (self->wanted.streamtype == 1) {
    jpeg_write_tables(&self->jpeg);
    return ENDED_WELL;
  }
  bool whole = self->wanted.streamtype != 2;
  if (!whole) jpeg_suppress_tables(&self->jpeg, TRUE);
  jpeg_start_compress(&self->jpeg, whole);
  write_markers(self);
  write_rows(self);
  jpeg_finish_compress(&self->jpeg);
  return ENDED_WELL;
}

void encode_jpeg(void)
{
  struct encoder *self = need_memory(sizeof *self);
  memset(self, 0, sizeof *self);
  read_settings(&self->wanted);
  self->jpeg.err = jpeg_std_error(&self->errors);
  self->errors.error_exit = on_error;
  self->errors.output_message = say_nothing;
  self->jpeg.client_data = self;
  self->to = (struct jpeg_destination_mgr){
    .init_destination = begin, .empty_output_buffer = room_is_full, .term_destination = take_what_is_there,
  };
  int32_t ended = self->wanted.colours < AS_GRAY || self->wanted.colours > AS_CMYK ? ENDED_CONFIG : encode(self);
  if (ended != ENDED_WELL) read_to_end();
  write_number(ended);
  write_frame(self->file.data, ended == ENDED_WELL ? self->file.length : 0);
  flush();
}
