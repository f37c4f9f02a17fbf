// A file of JPEG 2000 in memory, as a stream of OpenJPEG.
#ifndef JPEG2000_STREAM_H
#define JPEG2000_STREAM_H

#include "frames.h"
#include "openjpeg.h"

struct memory_stream {
  struct bytes content;
  size_t at;
};

opj_stream_t *open_memory_stream(struct memory_stream *memory, OPJ_BOOL to_read);
OPJ_CODEC_FORMAT format_named(const struct bytes *name);  // "j2k", or else "jp2"

#endif
