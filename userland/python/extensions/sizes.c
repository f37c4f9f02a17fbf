/* Sizes and places that numpy and scipy compute without a look at whether they have room in the 32 bits of an address; sizes_patch.py has them
 * call what is here. */
#include "numpy.h"

#include <math.h>

enum { BUFFERED = 128, EIGHT = 8 }; /* elements that a conversion has in between; bits of a byte */

/* A line of more elements than an index counts. */
static int refuse_line(long long elements) {
  PyErr_Format(PyExc_MemoryError, "Unable to allocate an array of %lld elements", elements);
  return -1;
}

/* Before the results of np.repeat are counted: how often each of `count` elements comes, or all of them where it says `is_each` is 0. Not 0: an
 * exception is set. Numbers below 0, and another number of them than there are elements, are numpy's to refuse. */
int cloche_before_repeat(const Array *repeats, Py_ssize_t count, int is_each) {
  const Py_ssize_t *const times = (const Py_ssize_t *)repeats->data;
  long long total = 0;
  if (!is_each) {
    total = (long long)times[0] * count;
  } else if (repeats->dimensions == 1 && repeats->shape[0] == count) {
    for (Py_ssize_t i = 0; i < count; ++i) total += times[i] < 0 ? 0 : times[i];
  }
  return total > PY_SSIZE_T_MAX || total < PY_SSIZE_T_MIN ? refuse_line(total) : 0;
}

/* After the length of one more array was added to that of a line that np.concatenate makes. Not 0: an exception is set. */
int cloche_line_is_too_long(Py_ssize_t length) { return length < 0 ? refuse_line((long long)(unsigned)length) : 0; }

/* What np.unpackbits makes of a line of bytes; less than 0: an exception is set. */
Py_ssize_t cloche_bits_of_line(Py_ssize_t bytes) {
  return bytes > PY_SSIZE_T_MAX / EIGHT ? refuse_line((long long)bytes * EIGHT) : bytes * EIGHT;
}

/* The bytes of the elements that a conversion has in between. Those of two types and a structure are added, and what is more than memory has is
 * refused by the allocator then, whichever of both is too large. */
size_t cloche_bytes_between(size_t element) {
  static const size_t too_many = PY_SSIZE_T_MAX - BUFFERED;
  return element < too_many / BUFFERED / 2 ? element * BUFFERED : too_many;
}

/* A number of 64 bits that numpy takes for a size, as one that is refused by the allocator where it has no room in 32. */
size_t cloche_size(unsigned long long size) { return size > PY_SSIZE_T_MAX ? (size_t)PY_SSIZE_T_MAX + 1 : (size_t)size; }

/* The bytes of a line of floats, with what is beside it, of the filters of scipy.ndimage: more than memory has where that has no room. */
size_t cloche_bytes_of_line(Py_ssize_t before, Py_ssize_t behind, Py_ssize_t length) {
  const long long bytes = ((long long)before + behind + length) * (long long)sizeof(double);
  return bytes < 0 || bytes > PY_SSIZE_T_MAX ? SIZE_MAX : (size_t)bytes;
}

/* Where scipy.ndimage finds what is at `place`, along an axis of `length` elements; less than 0: nowhere. It is what its own function computes, which
 * counts in the bits of an address how often an axis has room before that place. */
double cloche_place_in_axis(double place, Py_ssize_t length, int mode) {
  enum { NEAREST, WRAP, REFLECT, MIRROR, CONSTANT, GRID_WRAP, GRID_CONSTANT }; /* its numbers */
  static const double almost = 1e-15;
  const double last = (double)length - 1, size = mode == WRAP ? last : (double)length, both = mode == MIRROR ? 2 * last : 2 * size;
  const int is_before = place < 0;
  if (!is_before && !(place > last)) return place;
  if (mode == CONSTANT || mode == GRID_CONSTANT) return -1;
  if (mode == NEAREST) return is_before ? 0 : last;
  if (length <= 1) return 0;
  if (is_before) {
    switch (mode) {
      case MIRROR:
        place += both * trunc(-place / both);
        place = place <= -last ? place + both : -place;
        break;
      case REFLECT:
        if (place < -both) place += both * trunc(-place / both);
        place = place < -size ? place + both : place > -almost ? almost - 1 : -1 - place;
        break;
      case WRAP: place += size * (trunc(-place / size) + 1); break;
      case GRID_WRAP: place += size * (trunc((-1 - place) / size) + 1); break;
    }
  } else {
    switch (mode) {
      case MIRROR:
        place -= both * trunc(place / both);
        if (place >= size) place = both - place;
        break;
      case REFLECT:
        place -= both * trunc(place / both);
        if (place >= size) place = both - place - 1;
        break;
      case WRAP: case GRID_WRAP: place -= size * trunc(place / size); break;
    }
  }
  return place < -1 ? 0 : place > size ? last : place; /* of which a float has not all digits */
}
