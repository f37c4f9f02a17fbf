/* iconv: converts text from one encoding to another, with the options, suffixes and words of the GNU C library's
   program, by the tables of this C library.  What the target has not is an error, is left out with -c and //IGNORE, and
   is written in other letters with //TRANSLIT. */
#include <errno.h>
#include <getopt.h>
#include <iconv.h>
#include <langinfo.h>
#include <locale.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Every name is one that this C library takes. */
static const char *const encodings[] = {
    "ASCII", "US-ASCII", "ISO-8859-1", "LATIN1", "ISO-8859-2", "ISO-8859-3", "ISO-8859-4", "ISO-8859-5", "ISO-8859-6",
    "ISO-8859-7", "ISO-8859-8", "ISO-8859-9", "ISO-8859-10", "ISO-8859-11", "ISO-8859-13", "ISO-8859-14", "ISO-8859-15",
    "LATIN9", "ISO-8859-16", "CP437", "CP850", "CP866", "CP1250", "CP1251", "CP1252", "CP1253", "CP1254", "CP1255",
    "CP1256", "CP1257", "CP1258", "WINDOWS-1250", "WINDOWS-1251", "WINDOWS-1252", "KOI8-R", "KOI8-U", "TIS-620", "BIG5",
    "EUC-JP", "EUC-KR", "GB18030", "GB2312", "GBK", "ISO-2022-JP", "SHIFT_JIS", "UCS-2", "UCS-2BE", "UCS-2LE", "UCS-4",
    "UCS-4BE", "UCS-4LE", "UTF-16", "UTF-16BE", "UTF-16LE", "UTF-32", "UTF-32BE", "UTF-32LE", "UTF-8", "WCHAR_T"};

/* U+00C0 to U+017F without their marks. */
static const char without_marks[] =
    "AAAAAA?CEEEEIIII?NOOOOO?OUUUUY??aaaaaa?ceeeeiiii?nooooo?ouuuuy?y"
    "AaAaAaCcCcCcCcDd??EeEeEeEeEeGgGgGgGgHh??IiIiIiIiI???JjKk?LlLlLlLl??NnNnNn???OoOoOo??RrRrRrSsSsSsSsTtTt??UuUuUuUuUuUuWwYyYZzZzZz?";

static const struct {
  uint32_t letter;
  const char *text;
} in_other_letters[] = {
    {0xa0, " "}, {0xa1, "!"}, {0xa2, "c"}, {0xa3, "GBP"}, {0xa5, "JPY"}, {0xa9, "(C)"}, {0xab, "<<"}, {0xad, "-"},
    {0xae, "(R)"}, {0xb2, "2"}, {0xb3, "3"}, {0xb4, "'"}, {0xb5, "u"}, {0xb7, "."}, {0xb8, ","}, {0xb9, "1"},
    {0xbb, ">>"}, {0xbc, " 1/4 "}, {0xbd, " 1/2 "}, {0xbe, " 3/4 "}, {0xc6, "AE"}, {0xd0, "D"}, {0xd7, "x"}, {0xde, "TH"},
    {0xdf, "ss"}, {0xe6, "ae"}, {0xf0, "d"}, {0xfe, "th"}, {0x110, "D"}, {0x111, "d"}, {0x126, "H"}, {0x127, "h"},
    {0x131, "i"}, {0x132, "IJ"}, {0x133, "ij"}, {0x138, "q"}, {0x141, "L"}, {0x142, "l"}, {0x149, "'n"}, {0x14a, "N"},
    {0x14b, "n"}, {0x152, "OE"}, {0x153, "oe"}, {0x166, "T"}, {0x167, "t"}, {0x17f, "s"}, {0x2010, "-"}, {0x2011, "-"},
    {0x2012, "-"}, {0x2013, "-"}, {0x2014, "--"}, {0x2015, "-"}, {0x2018, "'"}, {0x2019, "'"}, {0x201a, ","},
    {0x201b, "'"}, {0x201c, "\""}, {0x201d, "\""}, {0x201e, ",,"}, {0x201f, "\""}, {0x2020, "+"}, {0x2022, "o"},
    {0x2024, "."}, {0x2025, ".."}, {0x2026, "..."}, {0x202f, " "}, {0x2039, "<"}, {0x203a, ">"}, {0x203c, "!!"},
    {0x2044, "/"}, {0x20ac, "EUR"}, {0x2116, "No"}, {0x2122, "(TM)"}, {0x2190, "<-"}, {0x2192, "->"}, {0x2212, "-"}};

static iconv_t decoder, encoder;
static const char *byte_order_mark = "";
static size_t byte_order_mark_size;
static int omit, ignore, transliterate, ignored;
static FILE *out;

static int fail(const char *message) {
  fflush(out);
  fprintf(stderr, "iconv: %s\n", message);
  return 1;
}

static int fail_at(size_t position) {
  fflush(out);
  fprintf(stderr, "iconv: illegal input sequence at position %zu\n", position);
  return 1;
}

/* Takes "//TRANSLIT" and the like off a name. */
static char *name_of(const char *wish) {
  char *name = strdup(wish), *suffix = name == NULL ? NULL : strstr(name, "//");
  if (name == NULL) exit(fail("out of memory"));
  if (suffix != NULL) {
    *suffix = 0;
    for (char *word = strtok(suffix + 2, "/,"); word != NULL; word = strtok(NULL, "/,")) {
      if (strcasecmp(word, "TRANSLIT") == 0) transliterate = 1;
      if (strcasecmp(word, "IGNORE") == 0) ignore = 1;
    }
  }
  return *name != 0 ? name : strdup(nl_langinfo(CODESET));
}

static const char *wide(const char *name) {
  static const char *const names[] = {"UTF-16", "UTF16", "UTF-32", "UTF32", "UCS-2", "UCS2", "UNICODE"};
  static const char *const little[] = {"UTF-16LE", "UTF-16LE", "UTF-32LE", "UTF-32LE", "UCS-2LE", "UCS-2LE", "UCS-2LE"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strcasecmp(name, names[i]) == 0) return little[i];
  return NULL;
}

/* A name of no byte order means little endian, with a mark in front of what is written but for UCS-2. */
static iconv_t open_encoder(const char *name) {
  const char *little = wide(name);
  if (little == NULL) return iconv_open(name, "UTF-32LE");
  if (little[4] == '3') byte_order_mark = "\xff\xfe\0\0", byte_order_mark_size = 4;
  else if (strncasecmp(name, "UCS", 3) != 0) byte_order_mark = "\xff\xfe", byte_order_mark_size = 2;
  return iconv_open(little, "UTF-32LE");
}

/* Where the text begins behind its mark; without one it is little endian. */
static size_t open_decoder(const char *name, const unsigned char *text, size_t size) {
  const char *little = wide(name);
  char order[16];
  size_t mark = 0;
  if (little != NULL) {
    size_t unit = little[4] == '3' ? 4 : 2;
    strcpy(order, little);
    if (size >= unit && text[0] == 0xff && text[1] == 0xfe && (unit == 2 || (text[2] == 0 && text[3] == 0))) mark = unit;
    if (size >= unit && text[unit - 2] == 0xfe && text[unit - 1] == 0xff && (unit == 2 || (text[0] == 0 && text[1] == 0))) {
      mark = unit;
      order[strlen(order) - 2] = 'B';
    }
    name = order;
  }
  decoder = iconv_open("UTF-32LE", name);
  return mark;
}

/* 0 when the target has no such letter. */
static int encode(uint32_t letter) {
  char to[64], *at = to, *from = (char *)&letter;
  size_t left = sizeof letter, room = sizeof to;
  if (iconv(encoder, &from, &left, &at, &room) != 0) {
    iconv(encoder, NULL, NULL, NULL, NULL);
    return 0;
  }
  fwrite(byte_order_mark, 1, byte_order_mark_size, out);
  byte_order_mark_size = 0;
  fwrite(to, 1, (size_t)(at - to), out);
  return 1;
}

static int encode_in_other_letters(uint32_t letter) {
  const char *text = NULL;
  for (size_t i = 0; i < sizeof in_other_letters / sizeof *in_other_letters; i++)
    if (in_other_letters[i].letter == letter) text = in_other_letters[i].text;
  if (text == NULL && letter >= 0xc0 && letter < 0x180 && strcmp(nl_langinfo(CODESET), "UTF-8") == 0)
    return encode((unsigned char)without_marks[letter - 0xc0]);
  for (text = text == NULL ? "?" : text; *text != 0; text++)
    if (!encode((unsigned char)*text)) return 0;
  return 1;
}

static int convert(const char *from, char *text, size_t size) {
  size_t begin = open_decoder(from, (unsigned char *)text, size);
  char *at = text + begin;
  size_t left = size - begin;
  if (decoder == (iconv_t)-1) {
    fprintf(stderr, "iconv: conversion from `%s' is not supported\nTry `iconv --help' for more information.\n", from);
    return 1;
  }
  while (left > 0) {
    uint32_t letter;
    char *to = (char *)&letter, *before = at;
    size_t room = sizeof letter;
    size_t done = iconv(decoder, &at, &left, &to, &room);
    if (room == 0) {
      if (encode(letter) || (transliterate && encode_in_other_letters(letter))) continue;
      if (!omit && !ignore) return fail_at((size_t)(before - text));
      ignored = 1;
    } else if (done == (size_t)-1 && errno == EINVAL) {
      return fail("incomplete character or shift sequence at end of buffer");
    } else if (done == (size_t)-1) {
      if (!omit && !ignore) return fail_at((size_t)(at - text));
      ignored = 1;
      at++;
      left--;
    }
  }
  iconv_close(decoder);
  return ignored && ignore && !omit ? fail_at(size) : 0;
}

static int convert_file(const char *from, const char *path) {
  FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "rb");
  char *text = NULL;
  size_t size = 0, room = 0, got;
  if (file == NULL) {
    fprintf(stderr, "iconv: cannot open input file `%s': %s\n", path, strerror(errno));
    return 1;
  }
  do {
    if (size == room) {
      char *more = realloc(text, room = room == 0 ? 65536 : room * 2);
      if (more == NULL) return fail("unable to allocate buffer for input");
      text = more;
    }
    got = fread(text + size, 1, room - size, file);
    size += got;
  } while (got > 0);
  if (ferror(file)) return fail("error while reading the input");
  if (file != stdin) fclose(file);
  int status = size == 0 ? 0 : convert(from, text, size);
  free(text);
  return status;
}

static const char usage[] =
    "Usage: iconv [OPTION...] [FILE...]\n"
    "Convert encoding of given files from one encoding to another.\n\n"
    " Input/Output format specification:\n"
    "  -f, --from-code=NAME       encoding of original text\n"
    "  -t, --to-code=NAME         encoding for output; NAME//TRANSLIT, NAME//IGNORE\n\n"
    " Information:\n"
    "  -l, --list                 list all known coded character sets\n\n"
    " Output control:\n"
    "  -c                         omit invalid characters from output\n"
    "  -o, --output=FILE          output file\n"
    "  -s, --silent               suppress warnings\n"
    "      --verbose              print progress information\n\n"
    "  -?, --help                 Give this help list\n"
    "  -V, --version              Print program version\n";

int main(int argc, char **argv) {
  static const struct option options[] = {{"from-code", 1, NULL, 'f'}, {"to-code", 1, NULL, 't'}, {"list", 0, NULL, 'l'},
                                          {"output", 1, NULL, 'o'},    {"silent", 0, NULL, 's'},  {"verbose", 0, NULL, 'v'},
                                          {"help", 0, NULL, 'h'},      {"version", 0, NULL, 'V'}, {NULL, 0, NULL, 0}};
  const char *wish_from = "", *wish_to = "", *output = NULL;
  int c, status = 0;
  setlocale(LC_ALL, "");
  while ((c = getopt_long(argc, argv, "f:t:lco:sV", options, NULL)) != -1) {
    switch (c) {
      case 'f': wish_from = optarg; break;
      case 't': wish_to = optarg; break;
      case 'c': omit = 1; break;
      case 'o': output = optarg; break;
      case 's': case 'v': break;
      case 'l':
        for (size_t i = 0; i < sizeof encodings / sizeof *encodings; i++) printf("%s//\n", encodings[i]);
        return 0;
      case 'V': puts("iconv (Cloche) 1.0"); return 0;
      default:
        if (c == 'h' || optopt == '?') return fputs(usage, stdout), 0;
        fputs("Try `iconv --help' or `iconv --usage' for more information.\n", stderr);
        return 64;
    }
  }
  out = stdout;
  char *from = name_of(wish_from), *to = name_of(wish_to);
  encoder = open_encoder(to);
  if (encoder == (iconv_t)-1) {
    fprintf(stderr, "iconv: conversion to `%s' is not supported\nTry `iconv --help' for more information.\n", to);
    return 1;
  }
  if (output != NULL && strcmp(output, "-") != 0 && (out = fopen(output, "wb")) == NULL) {
    fprintf(stderr, "iconv: cannot open output file: %s\n", strerror(errno));
    return 1;
  }
  if (optind == argc) status = convert_file(from, "-");
  for (; optind < argc && status == 0; optind++) status = convert_file(from, argv[optind]);
  char end[16], *at = end;
  size_t room = sizeof end;
  iconv(encoder, NULL, NULL, &at, &room);
  fwrite(end, 1, (size_t)(at - end), out);
  if (fflush(out) != 0 || ferror(out)) {
    fprintf(stderr, "iconv: conversion stopped due to problem in writing the output: %s\n", strerror(errno));
    return 1;
  }
  return status;
}
