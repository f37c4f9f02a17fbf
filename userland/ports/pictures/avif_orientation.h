// How a picture is turned: Exif's numbers 1 to 8, and what AVIF has in their place.
#ifndef AVIF_ORIENTATION_H
#define AVIF_ORIENTATION_H

#include "avif/avif.h"

int orientation_of(const avifImage *image);
void set_orientation(avifImage *image, int orientation);

#endif
