// A TIFF file that libtiff reads from memory, or makes there.
#ifndef MEMORY_TIFF_H
#define MEMORY_TIFF_H

#include "frames.h"
#include "tiffio.h"

struct memory_file {
  struct bytes content;
  size_t at;
};

// Null where it is no such file. libtiff says nothing to standard error.
TIFF *open_memory_tiff(struct memory_file *file, const char *mode);

#endif
