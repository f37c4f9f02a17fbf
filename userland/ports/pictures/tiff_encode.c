// TIFF files with libtiff's compressions: tags as Pillow has sorted them, then rows.

#include <stdlib.h>
#include <string.h>

#include "memory_tiff.h"
#include "works.h"

struct tag {
  int32_t number, type, shape, several;
  struct bytes content;
};

// A tag that libtiff has no field for gets one. False: it takes none.
static bool add_field(TIFF *tiff, const struct tag *tag)
{
  TIFFFieldInfo field = { tag->number, 1, 1, tag->type, FIELD_CUSTOM, 1, 0, "CustomField" };
  if (tag->several) field.field_readcount = field.field_writecount = TIFF_VARIABLE;
  if (tag->several && tag->type != TIFF_ASCII) field.field_passcount = 1;
  return TIFFMergeFieldInfo(tiff, &field, 1) == 0;
}

static int32_t whole(const struct tag *tag)
{
  int32_t number = 0;
  if (tag->content.length >= sizeof number) memcpy(&number, tag->content.data, sizeof number);
  return number;
}

static double real(const struct tag *tag)
{
  double number = 0;
  if (tag->content.length >= sizeof number) memcpy(&number, tag->content.data, sizeof number);
  return number;
}

static uint64_t wide(const struct tag *tag)
{
  uint64_t number = 0;
  if (tag->content.length >= sizeof number) memcpy(&number, tag->content.data, sizeof number);
  return number;
}

// The shapes are those that libtiff takes a tag's value in, which hang on the tag.
static int set_field(TIFF *tiff, struct tag *tag)
{
  uint16_t *shorts = (uint16_t *)tag->content.data;
  static const int sizes[] = { [TIFF_SBYTE] = 1, [TIFF_SHORT] = 2, [TIFF_SSHORT] = 2, [TIFF_LONG] = 4, [TIFF_SLONG] = 4, [TIFF_FLOAT] = 4, [TIFF_DOUBLE] = 8 };
  switch (tag->shape) {
    case 'b': return TIFFSetField(tiff, tag->number, (int)tag->content.length, tag->content.data);
    case 'a':
      if (tag->type <= 0 || tag->type > TIFF_DOUBLE || !sizes[tag->type]) return 0;
      return TIFFSetField(tiff, tag->number, (int)(tag->content.length / sizes[tag->type]), tag->content.data);
    case 'r': return TIFFSetField(tiff, tag->number, tag->content.data);
    case 'm': return tag->content.length == 3 * 256 * 2 && TIFFSetField(tiff, tag->number, shorts, shorts + 256, shorts + 512);
    case '2': return tag->content.length == 4 && TIFFSetField(tiff, tag->number, shorts[0], shorts[1]);
    case 'i': return TIFFSetField(tiff, tag->number, whole(tag));
    case 'd': return TIFFSetField(tiff, tag->number, real(tag));
    case 'l': return TIFFSetField(tiff, tag->number, wide(tag));
    case 't': append(&tag->content, "", 1); return TIFFSetField(tiff, tag->number, tag->content.data);
  }
  return 0;
}

static int32_t set_tags(TIFF *tiff, int32_t count)
{
  int32_t ended = tiff ? ENDED_WELL : ENDED_BROKEN;
  for (int32_t i = 0; i < count; i++) {
    struct tag tag = { 0 };
    tag.number = need_number();
    tag.type = need_number();
    tag.shape = need_number();
    tag.several = need_number();
    bool fresh = need_number() != 0;
    need_frame(&tag.content);
    if (ended == ENDED_WELL && (!fresh || add_field(tiff, &tag)) && !set_field(tiff, &tag)) ended = ENDED_CONFIG;
    free(tag.content.data);
  }
  return ended;
}

static int32_t write_rows(TIFF *tiff, uint32_t rows, size_t length)
{
  // The library asks for as much as its tags say.
  size_t room = (size_t)TIFFScanlineSize(tiff) > length ? (size_t)TIFFScanlineSize(tiff) : length;
  uint8_t *row = need_memory(room);
  memset(row, 0, room);
  for (uint32_t y = 0; y < rows; y++) {
    read_exactly(row, length);
    if (TIFFWriteScanline(tiff, row, y, 0) == -1) return ENDED_BROKEN;
  }
  free(row);
  return TIFFFlush(tiff) ? ENDED_WELL : ENDED_BROKEN;
}

void encode_tiff(void)
{
  struct memory_file file = { 0 };
  int32_t rows = need_number(), length = need_number(), tags = need_number();
  TIFF *tiff = open_memory_tiff(&file, "w");
  int32_t ended = set_tags(tiff, tags);
  if (!ended) ended = write_rows(tiff, rows, length);
  if (ended) read_to_end();
  else TIFFClose(tiff);
  write_number(ended);
  write_frame(file.content.data, ended ? 0 : file.content.length);
  flush();
}
