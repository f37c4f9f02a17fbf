// pictures WORK: does one work on one picture for Pillow, which starts it. See works.h.

#include <stdio.h>
#include <string.h>

#include "works.h"

static const struct {
  const char *name;
  void (*work)(void);
} works[] = {
  { "jpeg-decode", decode_jpeg },
  { "jpeg-encode", encode_jpeg },
  { "webp-decode", decode_webp },
  { "webp-encode", encode_webp },
  { "webp-animate", animate_webp },
  { "tiff-decode", decode_tiff },
  { "tiff-encode", encode_tiff },
  { "jpeg2000-decode", decode_jpeg2000 },
  { "jpeg2000-encode", encode_jpeg2000 },
  { "avif-decode", decode_avif },
  { "avif-encode", encode_avif },
  { "font", ask_font },
};

int main(int argc, char **argv)
{
  for (size_t i = 0; argc == 2 && i < sizeof works / sizeof *works; i++)
    if (!strcmp(works[i].name, argv[1])) {
      works[i].work();
      return 0;
    }
  fputs("pictures: Pillow's codecs; python3 starts it\n", stderr);
  return 2;
}
