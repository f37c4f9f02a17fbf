#include "jpeg2000_stream.h"

#include <string.h>

#define LONGEST (1u << 30)  // what a file may grow to

static OPJ_SIZE_T read_stream(void *into, OPJ_SIZE_T length, void *data)
{
  struct memory_stream *memory = data;
  size_t there = memory->at < memory->content.length ? memory->content.length - memory->at : 0;
  if (!there) return (OPJ_SIZE_T)-1;
  size_t count = length < there ? length : there;
  memcpy(into, memory->content.data + memory->at, count);
  memory->at += count;
  return count;
}

static OPJ_SIZE_T write_stream(void *from, OPJ_SIZE_T length, void *data)
{
  struct memory_stream *memory = data;
  size_t end = memory->at + length;
  if (end < memory->at || end > LONGEST) return (OPJ_SIZE_T)-1;
  if (end > memory->content.length) {
    size_t grown = end - memory->content.length;
    memset(room_for(&memory->content, grown), 0, grown);
    memory->content.length = end;
  }
  memcpy(memory->content.data + memory->at, from, length);
  memory->at = end;
  return length;
}

static OPJ_OFF_T skip_in_stream(OPJ_OFF_T count, void *data)
{
  struct memory_stream *memory = data;
  if (count < 0 || count > LONGEST || memory->at + count > LONGEST) return -1;
  memory->at += count;
  return count;
}

static OPJ_BOOL seek_in_stream(OPJ_OFF_T to, void *data)
{
  if (to < 0 || to > LONGEST) return OPJ_FALSE;
  ((struct memory_stream *)data)->at = to;
  return OPJ_TRUE;
}

opj_stream_t *open_memory_stream(struct memory_stream *memory, OPJ_BOOL to_read)
{
  opj_stream_t *stream = opj_stream_default_create(to_read);
  if (!stream) return 0;
  opj_stream_set_user_data(stream, memory, 0);
  opj_stream_set_user_data_length(stream, memory->content.length);
  opj_stream_set_read_function(stream, read_stream);
  opj_stream_set_write_function(stream, write_stream);
  opj_stream_set_skip_function(stream, skip_in_stream);
  opj_stream_set_seek_function(stream, seek_in_stream);
  return stream;
}

OPJ_CODEC_FORMAT format_named(const struct bytes *name)
{
  return name->length == 3 && !memcmp(name->data, "j2k", 3) ? OPJ_CODEC_J2K : OPJ_CODEC_JP2;
}
