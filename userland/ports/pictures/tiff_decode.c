// TIFF files: strips and tiles as they are stored, decompressed; Pillow unpacks them.

#include <stdlib.h>
#include <string.h>

#include "memory_tiff.h"
#include "works.h"

#define MOST 0x7fffffffu  // bytes of one strip or tile

struct picture {
  TIFF *tiff;
  uint32_t width, height, bits;  // what Pillow has made, and bits of a pixel of one plane
  uint16_t planes;
  bool as_rgba;  // libtiff converts the colours
};

// A part of a plane at a place of the picture: rows of `stride` bytes, of which those that fit are sent.
static void send_block(const struct picture *self, unsigned plane, uint32_t x, uint32_t y, uint32_t width, uint32_t rows, const uint8_t *data,
                       size_t stride)
{
  if (width > self->width - x) width = self->width - x;
  if (rows > self->height - y) rows = self->height - y;
  size_t length = ((size_t)width * self->bits + 7) / 8;
  write_number(1);
  write_number(plane);
  write_number(x);
  write_number(y);
  write_number(width);
  write_number(rows);
  write_number(length * rows);
  for (uint32_t row = 0; row < rows; row++) write_bytes(data + row * stride, length);
}

static int32_t read_tiles(const struct picture *self)
{
  uint32_t width = 0, length = 0;
  TIFFGetField(self->tiff, TIFFTAG_TILEWIDTH, &width);
  TIFFGetField(self->tiff, TIFFTAG_TILELENGTH, &length);
  if (!width || !length || width > MOST / self->bits) return ENDED_MEMORY;
  size_t stride = ((size_t)width * self->bits + 7) / 8;
  if (length > MOST / stride || (!self->as_rgba && TIFFTileSize(self->tiff) > (tmsize_t)(stride * length))) return ENDED_MEMORY;
  uint8_t *tile = need_memory(stride * length);
  for (uint32_t y = 0; y < self->height; y += length)
    for (uint32_t x = 0; x < self->width; x += width)
      for (unsigned plane = 0; plane < self->planes; plane++) {
        if (TIFFReadTile(self->tiff, tile, x, y, 0, plane) == -1) return ENDED_BROKEN;
        send_block(self, plane, x, y, width, length, tile, stride);
      }
  free(tile);
  return ENDED_WELL;
}

static uint32_t rows_of_strip(const struct picture *self)
{
  uint32_t rows;
  if (!TIFFGetField(self->tiff, TIFFTAG_ROWSPERSTRIP, &rows) || !rows || rows > self->height) rows = self->height;
  return rows;
}

static int32_t read_strips(const struct picture *self)
{
  uint32_t rows = rows_of_strip(self);
  if (self->width > MOST / self->bits) return ENDED_MEMORY;
  size_t stride = ((size_t)self->width * self->bits + 7) / 8;
  if (rows > MOST / stride || TIFFStripSize(self->tiff) > (tmsize_t)(stride * rows) || TIFFScanlineSize(self->tiff) > (tmsize_t)stride)
    return ENDED_MEMORY;
  uint8_t *strip = need_memory(stride * rows);
  for (uint32_t y = 0; y < self->height; y += rows)
    for (unsigned plane = 0; plane < self->planes; plane++) {
      if (TIFFReadEncodedStrip(self->tiff, TIFFComputeStrip(self->tiff, y, plane), strip, stride * rows) == -1) return ENDED_BROKEN;
      send_block(self, plane, 0, y, self->width, rows, strip, stride);
    }
  free(strip);
  return ENDED_WELL;
}

static int32_t read_as_rgba(const struct picture *self)
{
  TIFFRGBAImage image;
  char error[1024] = "";
  uint32_t rows = rows_of_strip(self);
  if (self->bits != 32 || self->width > MOST / 4 / rows) return ENDED_MEMORY;
  if (TIFFIsTiled(self->tiff)) {
    uint32_t length = 0;
    TIFFGetField(self->tiff, TIFFTAG_TILELENGTH, &length);
    if (length && length < rows) rows = length;
  }
  if (!TIFFRGBAImageOK(self->tiff, error) || !TIFFRGBAImageBegin(&image, self->tiff, 0, error)) return ENDED_BROKEN;
  int32_t ended = image.width < self->width || image.height < self->height ? ENDED_BROKEN : ENDED_WELL;
  image.req_orientation = ORIENTATION_TOPLEFT;
  uint32_t *pixels = need_memory((size_t)image.width * rows * 4);
  for (uint32_t y = 0; y < self->height && !ended; y += rows) {
    uint32_t count = rows < self->height - y ? rows : self->height - y;
    image.row_offset = y;
    image.col_offset = 0;
    if (!TIFFRGBAImageGet(&image, pixels, image.width, count)) ended = ENDED_BROKEN;
    else send_block(self, 0, 0, y, self->width, count, (uint8_t *)pixels, (size_t)image.width * 4);
  }
  free(pixels);
  TIFFRGBAImageEnd(&image);
  return ended;
}

static int32_t read_picture(struct picture *self, uint32_t directory)
{
  if (!self->tiff || !self->width || !self->height || !self->bits) return ENDED_BROKEN;
  if (directory && !TIFFSetSubDirectory(self->tiff, directory)) return ENDED_BROKEN;
  uint16_t photometric = 0, compression = COMPRESSION_NONE, planar = PLANARCONFIG_CONTIG, samples = 1;
  TIFFGetField(self->tiff, TIFFTAG_PHOTOMETRIC, &photometric);
  TIFFGetField(self->tiff, TIFFTAG_COMPRESSION, &compression);
  TIFFGetFieldDefaulted(self->tiff, TIFFTAG_PLANARCONFIG, &planar);
  TIFFGetFieldDefaulted(self->tiff, TIFFTAG_SAMPLESPERPIXEL, &samples);
  uint32_t width = 0, height = 0;
  TIFFGetField(self->tiff, TIFFTAG_IMAGEWIDTH, &width);
  TIFFGetField(self->tiff, TIFFTAG_IMAGELENGTH, &height);
  if (width != self->width || height != self->height) return ENDED_BROKEN;
  bool ycbcr = photometric == PHOTOMETRIC_YCBCR;
  if (ycbcr && compression == COMPRESSION_JPEG && planar == PLANARCONFIG_CONTIG) TIFFSetField(self->tiff, TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB);
  else self->as_rgba = ycbcr;
  write_number(2);  // what the planes are, before their rows
  bool apart = planar == PLANARCONFIG_SEPARATE && samples > 1 && !self->as_rgba;
  uint16_t depth = 8;
  TIFFGetFieldDefaulted(self->tiff, TIFFTAG_BITSPERSAMPLE, &depth);
  if (apart && depth != 8 && depth != 16) return ENDED_CONFIG;
  if (apart) self->bits = depth;
  write_number(apart ? samples : 0);
  write_number(depth);
  uint16_t extras = 0, *kinds = 0;
  TIFFGetFieldDefaulted(self->tiff, TIFFTAG_EXTRASAMPLES, &extras, &kinds);
  write_number(apart && extras && kinds[extras - 1] == EXTRASAMPLE_ASSOCALPHA);
  self->planes = apart ? (samples < 4 ? samples : 4) : 1;
  return self->as_rgba ? read_as_rgba(self) : TIFFIsTiled(self->tiff) ? read_tiles(self) : read_strips(self);
}

void decode_tiff(void)
{
  struct memory_file file = { 0 };
  struct picture self = { 0 };
  uint32_t directory = need_number();
  self.width = need_number();
  self.height = need_number();
  self.bits = need_number();
  need_frame(&file.content);
  self.tiff = open_memory_tiff(&file, "r");
  int32_t ended = read_picture(&self, directory);
  write_number(0);
  write_number(ended);
  flush();
}
