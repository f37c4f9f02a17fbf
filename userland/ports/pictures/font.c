// Faces of FreeType: what Pillow's half needs of glyphs to lay out text and to draw it. It keeps what it was told, and asks once for each glyph.

#include <stdlib.h>
#include <string.h>

#include <ft2build.h>
#include FT_FREETYPE_H
#include FT_GLYPH_H
#include FT_BITMAP_H
#include FT_STROKER_H
#include FT_MULTIPLE_MASTERS_H
#include FT_SFNT_NAMES_H

#include "frames.h"
#include "works.h"

static FT_Library library;
static FT_Face face;
static struct bytes answer;

#undef FTERRORS_H_
#define FT_ERROR_START_LIST {
#define FT_ERRORDEF(code, number, text) { number, text },
#define FT_ERROR_END_LIST { 0, 0 } }
static const struct {
  int number;
  const char *text;
} errors[] =
#include FT_ERRORS_H
;

static const char *text_of(FT_Error error)
{
  for (size_t i = 0; errors[i].text; i++)
    if (errors[i].number == error) return errors[i].text;
  return "unknown freetype error";
}

static void put(int32_t number)
{
  append(&answer, &number, sizeof number);
}

static void put_bytes(const void *data, size_t length)
{
  put(length);
  append(&answer, data, length);
}

static void put_text(const char *text)
{
  put_bytes(text ? text : "", text ? strlen(text) : 0);
}

static int to_pixels(FT_Pos position)
{
  return (position + 32) >> 6;
}

// Whether the name of this number is there; it is put then.
static bool put_name(FT_UInt number)
{
  FT_SfntName name;
  for (FT_UInt i = 0; i < FT_Get_Sfnt_Name_Count(face); i++)
    if (!FT_Get_Sfnt_Name(face, i, &name) && name.name_id == number) {
      put_bytes(name.string, name.string_len);
      return true;
    }
  return false;
}

static void put_variations(void)
{
  FT_MM_Var *all;
  FT_Error error = FT_Get_MM_Var(face, &all);
  put_text(error ? text_of(error) : "");
  if (error) return;
  put(all->num_namedstyles);
  for (FT_UInt i = 0; i < all->num_namedstyles; i++)
    if (!put_name(all->namedstyle[i].strid)) put_text("");
  put(all->num_axis);
  for (FT_UInt i = 0; i < all->num_axis; i++) {
    put(all->axis[i].minimum / 65536);
    put(all->axis[i].def / 65536);
    put(all->axis[i].maximum / 65536);
    if (!put_name(all->axis[i].strid)) put(-1);
  }
  FT_Done_MM_Var(library, all);
}

static FT_Error open_face(void)
{
  static struct bytes path, content, encoding, axes;
  need_frame(&path);
  need_frame(&content);
  int32_t index = need_number(), size = need_number();
  need_frame(&encoding);
  int32_t instance = need_number();
  need_frame(&axes);
  append(&path, "", 1);
  FT_Error error = FT_Init_FreeType(&library);
  if (!error) {
    error = path.length > 1 ? FT_New_Face(library, (char *)path.data, index, &face)
                            : FT_New_Memory_Face(library, content.data, content.length, index, &face);
  }
  FT_Size_RequestRec wanted = { FT_SIZE_REQUEST_TYPE_NOMINAL, size, size, 0, 0 };
  if (!error) error = FT_Request_Size(face, &wanted);
  if (!error && encoding.length == 4)
    error = FT_Select_Charmap(face, FT_MAKE_TAG(encoding.data[0], encoding.data[1], encoding.data[2], encoding.data[3]));
  if (!error && instance >= 0) error = FT_Set_Named_Instance(face, instance);
  if (!error && axes.length) {
    FT_Fixed coordinates[64];
    FT_UInt count = axes.length / 4 < 64 ? axes.length / 4 : 64;
    memcpy(coordinates, axes.data, count * 4);
    error = FT_Set_Var_Design_Coordinates(face, count, coordinates);
  }
  return error;
}

static void put_face(void)
{
  put_text(face->family_name);
  put(face->family_name != 0);
  put_text(face->style_name);
  put(face->style_name != 0);
  put(face->size->metrics.ascender);
  put(face->size->metrics.descender);
  put(face->size->metrics.height);
  put(face->size->metrics.max_advance);
  put(face->size->metrics.x_ppem);
  put(face->size->metrics.y_ppem);
  put(face->num_glyphs);
  put_variations();
}

static const int32_t *numbers_of(const struct bytes *frame, size_t *count)
{
  *count = frame->length / sizeof(int32_t);
  return (const int32_t *)frame->data;
}

static FT_Error put_metrics(FT_UInt glyph, FT_Int32 flags)
{
  FT_Glyph loaded;
  FT_BBox box;
  FT_Error error = FT_Load_Glyph(face, glyph, flags);
  if (!error) error = FT_Get_Glyph(face->glyph, &loaded);
  if (error) return error;
  FT_Glyph_Get_CBox(loaded, FT_GLYPH_BBOX_PIXELS, &box);
  FT_Done_Glyph(loaded);
  put(face->glyph->metrics.horiAdvance);
  put(box.xMin);
  put(box.yMin);
  put(box.xMax);
  put(box.yMax);
  return 0;
}

// For each character its glyph, and how that lies around the pen.
static FT_Error put_characters(const struct bytes *characters, FT_Int32 flags)
{
  size_t count;
  const int32_t *codes = numbers_of(characters, &count);
  for (size_t i = 0; i < count; i++) {
    FT_UInt glyph = FT_Get_Char_Index(face, codes[i]);
    put(glyph);
    FT_Error error = put_metrics(glyph, flags);
    if (error) return error;
  }
  return 0;
}

static void put_kerning_of(FT_UInt left, FT_UInt right)
{
  FT_Vector by;
  if (!left || !right || FT_Get_Kerning(face, left, right, FT_KERNING_DEFAULT, &by)) return;
  if (!to_pixels(by.x) && !to_pixels(by.y)) return;
  put(left);
  put(right);
  put(to_pixels(by.x));
  put(to_pixels(by.y));
}

// Of all pairs with a glyph of `fresh`, those that move.
static void put_kerning(const struct bytes *fresh, const struct bytes *known)
{
  size_t fresh_count, known_count;
  const int32_t *a = numbers_of(fresh, &fresh_count), *b = numbers_of(known, &known_count);
  if (!FT_HAS_KERNING(face)) return;
  for (size_t i = 0; i < fresh_count; i++) {
    for (size_t k = 0; k < fresh_count; k++) put_kerning_of(a[i], a[k]);
    for (size_t k = 0; k < known_count; k++) {
      put_kerning_of(a[i], b[k]);
      put_kerning_of(b[k], a[i]);
    }
  }
}

static FT_Error put_gray(const FT_Bitmap *bitmap, int left, int top)
{
  FT_Bitmap gray;
  FT_Bitmap_Init(&gray);
  FT_Error error = 0;
  int scale = bitmap->pixel_mode == FT_PIXEL_MODE_MONO ? 255 : bitmap->pixel_mode == FT_PIXEL_MODE_GRAY2 ? 85 : bitmap->pixel_mode == FT_PIXEL_MODE_GRAY4 ? 17 : 1;
  if (scale != 1) {
    error = FT_Bitmap_Convert(library, bitmap, &gray, 1);
    bitmap = &gray;
  } else if (bitmap->buffer && bitmap->pixel_mode != FT_PIXEL_MODE_GRAY) {
    error = FT_Err_Invalid_Pixel_Size;
  }
  if (error) return error;
  put(left);
  put(top);
  put(bitmap->width);
  put(bitmap->rows);
  for (unsigned y = 0; y < bitmap->rows; y++) {
    const uint8_t *row = bitmap->buffer + (ptrdiff_t)y * bitmap->pitch;
    uint8_t *to = room_for(&answer, bitmap->width);
    for (unsigned x = 0; x < bitmap->width; x++) to[x] = row[x] * scale;
    answer.length += bitmap->width;
  }
  FT_Bitmap_Done(library, &gray);
  return 0;
}

static FT_Error put_stroked(FT_Stroker stroker, bool filled)
{
  FT_Glyph glyph;
  FT_Vector origin = { 0, 0 };
  FT_Error error = FT_Get_Glyph(face->glyph, &glyph);
  if (error) return error;
  error = filled ? FT_Glyph_StrokeBorder(&glyph, stroker, 0, 1) : FT_Glyph_Stroke(&glyph, stroker, 1);
  if (!error) error = FT_Glyph_To_Bitmap(&glyph, FT_RENDER_MODE_NORMAL, &origin, 1);
  if (!error) {
    FT_BitmapGlyph drawn = (FT_BitmapGlyph)glyph;
    error = put_gray(&drawn->bitmap, drawn->left, drawn->top);
  }
  FT_Done_Glyph(glyph);
  return error;
}

// For each glyph where its plain bitmap begins, and the bitmap to draw, which is another one where it is stroked.
static FT_Error put_bitmaps(const struct bytes *glyphs, FT_Int32 flags, int32_t stroke, bool filled)
{
  size_t count;
  const int32_t *numbers = numbers_of(glyphs, &count);
  FT_Stroker stroker = 0;
  FT_Error error = stroke ? FT_Stroker_New(library, &stroker) : 0;
  if (error) return error;
  if (stroker) FT_Stroker_Set(stroker, stroke, FT_STROKER_LINECAP_ROUND, FT_STROKER_LINEJOIN_ROUND, 0);
  if (stroker) flags |= FT_LOAD_NO_BITMAP;
  for (size_t i = 0; i < count && !error; i++) {
    error = FT_Load_Glyph(face, numbers[i], flags | FT_LOAD_RENDER);
    if (error) break;
    put(face->glyph->bitmap_left);
    put(face->glyph->bitmap_top);
    if (!stroker) {
      error = put_gray(&face->glyph->bitmap, face->glyph->bitmap_left, face->glyph->bitmap_top);
    } else {
      error = FT_Load_Glyph(face, numbers[i], flags);
      if (!error) error = put_stroked(stroker, filled);
    }
  }
  return error;
}

static FT_Error answer_query(int32_t query)
{
  static struct bytes first, second;
  need_frame(&first);
  FT_Int32 flags = need_number() ? FT_LOAD_TARGET_MONO : FT_LOAD_DEFAULT;
  if (query == 'c') return put_characters(&first, flags);
  if (query == 'k') {
    need_frame(&second);
    put_kerning(&first, &second);
    return 0;
  }
  int32_t stroke = need_number();
  return put_bitmaps(&first, flags, stroke, need_number() != 0);
}

void ask_font(void)
{
  FT_Error error = open_face();
  if (!error) put_face();
  for (;;) {
    int32_t query = 0;
    const char *text = error ? text_of(error) : "";
    write_frame(text, strlen(text));
    write_frame(answer.data, error ? 0 : answer.length);
    flush();
    answer.length = 0;
    if (!read_number(&query)) return;
    error = face ? answer_query(query) : FT_Err_Invalid_Face_Handle;
  }
}
