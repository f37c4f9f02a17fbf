#include "memory_tiff.h"

#include <stdio.h>
#include <string.h>

#define LONGEST (1u << 30)  // what a file may grow to

static tmsize_t read_file(thandle_t handle, void *into, tmsize_t length)
{
  struct memory_file *file = handle;
  size_t there = file->at < file->content.length ? file->content.length - file->at : 0;
  size_t count = (size_t)length < there ? (size_t)length : there;
  memcpy(into, file->content.data + file->at, count);
  file->at += count;
  return count;
}

static tmsize_t write_file(thandle_t handle, void *from, tmsize_t length)
{
  struct memory_file *file = handle;
  size_t end = file->at + length;
  if (end < file->at || end > LONGEST) return -1;
  if (end > file->content.length) {
    size_t grown = end - file->content.length;
    memset(room_for(&file->content, grown), 0, grown);
    file->content.length = end;
  }
  memcpy(file->content.data + file->at, from, length);
  file->at = end;
  return length;
}

static toff_t seek_file(thandle_t handle, toff_t offset, int whence)
{
  struct memory_file *file = handle;
  toff_t from = whence == SEEK_CUR ? file->at : whence == SEEK_END ? file->content.length : 0;
  if (from + offset > LONGEST) return (toff_t)-1;
  file->at = from + offset;
  return file->at;
}

static int close_file(thandle_t handle)
{
  (void)handle;
  return 0;
}

static toff_t size_of_file(thandle_t handle)
{
  return ((struct memory_file *)handle)->content.length;
}

static int map_file(thandle_t handle, void **base, toff_t *size)
{
  (void)handle, (void)base, (void)size;
  return 0;
}

static void unmap_file(thandle_t handle, void *base, toff_t size)
{
  (void)handle, (void)base, (void)size;
}

TIFF *open_memory_tiff(struct memory_file *file, const char *mode)
{
  TIFFSetWarningHandler(0);
  TIFFSetErrorHandler(0);
  return TIFFClientOpen("picture", mode, file, read_file, write_file, seek_file, close_file, size_of_file, map_file, unmap_file);
}
