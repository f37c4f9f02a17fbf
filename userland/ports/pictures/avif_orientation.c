#include "avif_orientation.h"

// By Exif's number: quarters of a turn against the clock, and then the mirror's axis, -1 where there is none.
static const struct { uint8_t angle; int8_t axis; } turns[9] = {
  [1] = { 0, -1 }, [2] = { 0, 1 }, [3] = { 2, -1 }, [4] = { 0, 0 }, [5] = { 1, 0 }, [6] = { 3, -1 }, [7] = { 3, 0 }, [8] = { 1, -1 },
};

int orientation_of(const avifImage *image)
{
  int angle = image->transformFlags & AVIF_TRANSFORM_IROT ? image->irot.angle : 0;
  int axis = image->transformFlags & AVIF_TRANSFORM_IMIR ? image->imir.axis : -1;
  if (axis >= 0 && angle == 2) {  // half a turn and a mirror are the other mirror
    angle = 0;
    axis = !axis;
  } else if (axis == 1 && angle) {  // as a quarter of a turn to the other side and the other mirror
    angle = 4 - angle;
    axis = 0;
  }
  for (int i = 1; i <= 8; i++)
    if (turns[i].angle == angle && turns[i].axis == axis) return i;
  return 1;
}

void set_orientation(avifImage *image, int orientation)
{
  if (orientation < 2 || orientation > 8) return;
  if (turns[orientation].angle) {
    image->transformFlags |= AVIF_TRANSFORM_IROT;
    image->irot.angle = turns[orientation].angle;
  }
  if (turns[orientation].axis >= 0) {
    image->transformFlags |= AVIF_TRANSFORM_IMIR;
    image->imir.axis = turns[orientation].axis;
  }
}
