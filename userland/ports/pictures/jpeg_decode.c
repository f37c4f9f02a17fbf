// JPEG files in pieces: libjpeg stops where a piece ends, and goes on from there with the next one.

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frames.h"
#include "jpeglib.h"
#include "jerror.h"
#include "works.h"

enum stage { IN_HEADER, BEFORE_ROWS, IN_ROWS, AFTER_ROWS };

struct decoder {
  struct jpeg_decompress_struct jpeg;
  struct jpeg_error_mgr errors;
  struct jpeg_source_mgr source;
  jmp_buf broken;
  size_t to_skip;
  enum stage stage;
  J_COLOR_SPACE file_colours, row_colours;  // JCS_UNKNOWN: as the file says
  bool as_stored;                           // no conversion of colours at all
  int scale, draft, width, height, rows_done;
  struct bytes rows;  // decoded and not yet sent
};

#define ROWS_AT_A_TIME (1 << 18)

static void on_error(j_common_ptr jpeg)
{
  struct decoder *self = jpeg->client_data;
  longjmp(self->broken, 1);
}

static void say_nothing(j_common_ptr jpeg)
{
  (void)jpeg;
}

static void start_or_end_source(j_decompress_ptr jpeg)
{
  (void)jpeg;
}

static boolean wait_for_more(j_decompress_ptr jpeg)
{
  (void)jpeg;
  return FALSE;
}

static void skip(j_decompress_ptr jpeg, long count)
{
  struct decoder *self = jpeg->client_data;
  if (count <= 0) return;
  size_t now = (size_t)count < self->source.bytes_in_buffer ? (size_t)count : self->source.bytes_in_buffer;
  self->source.next_input_byte += now;
  self->source.bytes_in_buffer -= now;
  self->to_skip = count - now;
}

static const struct {
  const char *name;
  J_COLOR_SPACE colours;
} colour_names[] = {
  { "L", JCS_GRAYSCALE }, { "RGB", JCS_RGB }, { "CMYK", JCS_CMYK }, { "CMYK;I", JCS_CMYK }, { "YCbCr", JCS_YCbCr },
  { "YCbCrK", JCS_YCCK }, { "RGBX", JCS_EXT_RGBX },
};

static J_COLOR_SPACE colours_named(const struct bytes *name)
{
  for (size_t i = 0; i < sizeof colour_names / sizeof *colour_names; i++)
    if (strlen(colour_names[i].name) == name->length && !memcmp(colour_names[i].name, name->data, name->length))
      return colour_names[i].colours;
  return JCS_UNKNOWN;
}

static void open_decoder(struct decoder *self)
{
  struct bytes name = { 0 };
  need_frame(&name);
  self->row_colours = colours_named(&name);
  self->as_stored = self->row_colours == JCS_UNKNOWN;
  need_frame(&name);
  self->file_colours = colours_named(&name);
  free(name.data);
  self->scale = need_number();
  self->draft = need_number();
  self->width = need_number();
  self->height = need_number();
  self->jpeg.err = jpeg_std_error(&self->errors);
  self->errors.error_exit = on_error;
  self->errors.output_message = say_nothing;
  self->jpeg.client_data = self;
}

static void choose_colours(struct decoder *self)
{
  if (self->as_stored) {
    self->jpeg.jpeg_color_space = self->jpeg.out_color_space = JCS_UNKNOWN;
  } else {
    if (self->file_colours != JCS_UNKNOWN) self->jpeg.jpeg_color_space = self->file_colours;
    self->jpeg.out_color_space = self->row_colours;
  }
  if (self->scale > 1) {
    self->jpeg.scale_num = 1;
    self->jpeg.scale_denom = self->scale;
  }
  if (self->draft) {
    self->jpeg.do_fancy_upsampling = FALSE;
    self->jpeg.dct_method = JDCT_FASTEST;
  }
}

static void send_rows(struct decoder *self)
{
  if (self->rows.length) write_frame(self->rows.data, self->rows.length);
  self->rows.length = 0;
}

// A row is as wide as the picture that Pillow has made, whatever the file's second header says.
static bool read_rows(struct decoder *self)
{
  size_t there = (size_t)self->jpeg.output_width * self->jpeg.output_components;
  size_t wanted = (size_t)self->width * self->jpeg.output_components;
  while (self->rows_done < self->height) {
    if (self->jpeg.output_scanline >= self->jpeg.output_height) longjmp(self->broken, 1);
    JSAMPROW row = room_for(&self->rows, there > wanted ? there : wanted);
    if (jpeg_read_scanlines(&self->jpeg, &row, 1) != 1) return false;
    if (there < wanted) memset(row + there, 0, wanted - there);
    self->rows.length += wanted;
    if (self->rows.length >= ROWS_AT_A_TIME) send_rows(self);
    self->rows_done++;
  }
  return true;
}

// Whether the picture is whole.
static bool go_on(struct decoder *self)
{
  switch (self->stage) {
    case IN_HEADER: {
      int read;
      while ((read = jpeg_read_header(&self->jpeg, FALSE)) == JPEG_HEADER_TABLES_ONLY) {}
      if (read == JPEG_SUSPENDED) return false;
      choose_colours(self);
      self->stage = BEFORE_ROWS;
    }
    // fall through
    case BEFORE_ROWS:
      if (!jpeg_start_decompress(&self->jpeg)) return false;
      self->stage = IN_ROWS;
    // fall through
    case IN_ROWS:
      if (!read_rows(self)) return false;
      self->stage = AFTER_ROWS;
    // fall through
    case AFTER_ROWS:
      jpeg_finish_decompress(&self->jpeg);  // what it still waits for is no part of the picture
      return true;
  }
  return true;
}

static void answer(struct decoder *self, int32_t used, int32_t ended)
{
  send_rows(self);
  write_number(0);
  write_number(used);
  write_number(ended);
  flush();
}

void decode_jpeg(void)
{
  struct decoder *self = need_memory(sizeof *self);
  memset(self, 0, sizeof *self);
  open_decoder(self);
  struct bytes piece = { 0 };
  if (setjmp(self->broken)) {
    answer(self, -1, ENDED_BROKEN);
    return;
  }
  jpeg_create_decompress(&self->jpeg);
  self->jpeg.client_data = self;
  self->source = (struct jpeg_source_mgr){
    .init_source = start_or_end_source, .fill_input_buffer = wait_for_more, .skip_input_data = skip,
    .resync_to_restart = jpeg_resync_to_restart, .term_source = start_or_end_source,
  };
  self->jpeg.src = &self->source;
  while (read_frame(&piece)) {
    self->source.next_input_byte = piece.data;
    self->source.bytes_in_buffer = piece.length;
    if (self->to_skip) skip(&self->jpeg, self->to_skip);
    if (!self->to_skip && go_on(self)) {
      answer(self, -1, ENDED_WELL);
      return;
    }
    answer(self, self->source.next_input_byte - piece.data, ENDED_WELL);
  }
}
