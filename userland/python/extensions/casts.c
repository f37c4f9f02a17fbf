/* The module _casts: what becomes of a float that is converted to an integer in numpy. What does not fit becomes what x86-64 makes of it,
 * as on the machines that programs are written on: WebAssembly's instructions give the nearest integer, and tell of nothing. numpy warns of
 * it there, and here. userland/python/lib/_cloche/libraries/floats.py says for which of its types. */
#include "indices.h"

enum { FIRST_INTEGER = 1, INTEGERS = 10 }; /* byte to ulonglong */
enum { SAME_VALUE = 1 };                   /* a flag of a context */

/* Integers of up to 32 bits are made of the signed one of 32 bits, uint32 of that of 64, and uint64 in two halves: what does not fit into
 * the wider one becomes its least. `odd` is set where that was so. */
static inline int narrow(double value, int *odd) {
  const int fits = value > -0x1p31 - 1 && value < 0x1p31;
  *odd |= !fits;
  return fits ? (int)value : INT_MIN;
}
static inline long long wide(double value, int *odd) {
  const int fits = value >= -0x1p63 && value < 0x1p63;
  *odd |= !fits;
  return fits ? (long long)value : LLONG_MIN;
}
static inline unsigned long long widest(double value, int *odd) {
  return value >= 0x1p63 ? (unsigned long long)wide(value - 0x1p63, odd) ^ 1ULL << 63 : (unsigned long long)wide(value, odd);
}

/* An index has 32 bits. One that fits where indices have 64, and not here, is an error; what fits in neither is the least. */
enum { BEYOND = 2 }; /* in `odd` */
static long long beyond;
static inline int index_of(long long whole, int odd_before, int *odd) {
  *odd |= odd_before;
  if (odd_before) return INT_MIN;
  if (whole != (int)whole) beyond = whole, *odd |= BEYOND;
  return (int)whole;
}
static inline unsigned unsigned_index_of(unsigned long long whole, int odd_before, int *odd) {
  *odd |= odd_before;
  if (!odd_before && whole > UINT_MAX) beyond = (long long)whole, *odd |= BEYOND;
  return (unsigned)whole;
}
static inline int index_of_float(double value, int *odd) {
  int is_odd = 0;
  const long long whole = wide(value, &is_odd);
  return index_of(whole, is_odd, odd);
}
static inline unsigned unsigned_index_of_float(double value, int *odd) {
  int is_odd = 0;
  const unsigned long long whole = widest(value, &is_odd);
  return unsigned_index_of(whole, is_odd, odd);
}

static inline float of_half(unsigned short half) { return npy_half_to_float(half); }
static inline double as_it_is(double value) { return value; }

/* A long double, which has 128 bits here, by its bits: its whole part without the sign, 0 where that has more than 64 bits. */
typedef struct {
  unsigned long long low, high;
} Quad;
enum { LIMIT = 0x7fff, FRACTION_OF_HIGH = 48 };
static inline int exponent_of(Quad value) { return (int)(value.high >> FRACTION_OF_HIGH & LIMIT) - LIMIT / 2; }
static inline int is_negative(Quad value) { return value.high >> 63; }
static int is_nan_quad(Quad value) {
  return (value.high >> FRACTION_OF_HIGH & LIMIT) == LIMIT && (value.high << (64 - FRACTION_OF_HIGH) | value.low) != 0;
}
static int whole_of_quad(Quad value, unsigned long long *made) {
  const int exponent = exponent_of(value);
  *made = 0;
  if (exponent >= 0 && exponent < 64) *made = (1ULL << 63 | value.high << 15 | value.low >> 49) >> (63 - exponent);
  return exponent < 64;
}
static int is_whole_quad(Quad value) {
  const int exponent = exponent_of(value);
  if (exponent < 0) return (value.high << 1 | value.low) == 0;
  const unsigned long long below = exponent < FRACTION_OF_HIGH ? (1ULL << (FRACTION_OF_HIGH - exponent)) - 1 : 0;
  const int of_low = 64 + FRACTION_OF_HIGH - exponent;
  return (value.high & below) == 0 && (of_low <= 0 || (of_low >= 64 ? value.low : value.low << (64 - of_low)) == 0);
}
static inline long long signed_of(Quad value, unsigned long long end, int *odd) {
  unsigned long long whole;
  const int fits = whole_of_quad(value, &whole) && whole <= end - 1 + is_negative(value);
  *odd |= !fits;
  return fits ? (long long)(is_negative(value) ? 0 - whole : whole) : (long long)(0 - end);
}
/* The x87 stores 16 bits for those of 8 and 16 as well. */
static inline long long quad_short(Quad value, int *odd) { return signed_of(value, 1ULL << 15, odd); }
static inline long long quad_narrow(Quad value, int *odd) { return signed_of(value, 1ULL << 31, odd); }
static inline long long quad_wide(Quad value, int *odd) { return signed_of(value, 1ULL << 63, odd); }
static inline unsigned long long quad_widest(Quad value, int *odd) {
  unsigned long long whole;
  const int fits = whole_of_quad(value, &whole);
  if (is_negative(value) || is_nan_quad(value) || (fits && whole >> 63 == 0)) return quad_wide(value, odd);
  *odd |= !fits;
  return fits ? whole : 0;
}

static inline int index_of_quad(Quad value, int *odd) {
  int is_odd = 0;
  const long long whole = quad_wide(value, &is_odd);
  return index_of(whole, is_odd, odd);
}
static inline unsigned unsigned_index_of_quad(Quad value, int *odd) {
  int is_odd = 0;
  const unsigned long long whole = quad_widest(value, &is_odd);
  return unsigned_index_of(whole, is_odd, odd);
}

/* Numbers that lie side by side are done in blocks. Of one it is seen first whether all are within the range of which the integers are as
 * their instruction makes them, then vectors are made of them. */
enum { BLOCK = 256 };
typedef double Doubles __attribute__((vector_size(16), aligned(1)));
typedef float Floats __attribute__((vector_size(16), aligned(1)));
typedef long long Longs __attribute__((vector_size(16), aligned(1)));
typedef int Ints __attribute__((vector_size(16), aligned(1)));
typedef float FloatPair __attribute__((vector_size(8), aligned(1)));
typedef signed char Bytes __attribute__((vector_size(16)));
typedef long long Unaligned __attribute__((aligned(1)));
typedef int UnalignedInt __attribute__((aligned(1)));

#define LOOKS_AT(type, vector, masks)                                                  \
  static int all_within_##type(const char *at, Py_ssize_t count, type end) {           \
    const Py_ssize_t lanes = sizeof(vector) / sizeof(type);                            \
    masks are = {0};                                                                   \
    are = ~are;                                                                        \
    Py_ssize_t i = 0;                                                                  \
    for (; i + lanes <= count; i += lanes) {                                           \
      const vector values = *(const vector *)(at + i * sizeof(type));                  \
      are &= (masks)(__builtin_elementwise_abs(values) < end);                         \
    }                                                                                  \
    int fit = !__builtin_wasm_any_true_v128((Bytes)~are);                              \
    for (; i < count; ++i) {                                                           \
      type value;                                                                      \
      memcpy(&value, at + i * sizeof value, sizeof value);                             \
      fit &= value > -end && value < end;                                              \
    }                                                                                  \
    return fit;                                                                        \
  }
LOOKS_AT(double, Doubles, Longs)
LOOKS_AT(float, Floats, Ints)

/* Integers of doubles within 2^51: added to this one their bits are the last of it. */
static inline Longs whole(Doubles values) {
  const Doubles many = {0x1.8p52, 0x1.8p52};
  return (Longs)(__builtin_elementwise_trunc(values) + many) - (Longs)many;
}
static void wholes_of_double(const char *source, void *target, Py_ssize_t count) {
  Unaligned *made = target;
  Py_ssize_t i = 0;
  for (; i + 2 <= count; i += 2) *(Longs *)(made + i) = whole(*(const Doubles *)(source + i * sizeof(double)));
  for (; i < count; ++i) {
    double value;
    memcpy(&value, source + i * sizeof value, sizeof value);
    made[i] = (long long)value;
  }
}
static void narrow_wholes_of_double(const char *source, void *target, Py_ssize_t count) {
  UnalignedInt *made = target;
  Py_ssize_t i = 0;
  for (; i + 4 <= count; i += 4) {
    const Doubles *values = (const Doubles *)(source + i * sizeof(double));
    const Ints first = (Ints)whole(values[0]), last = (Ints)whole(values[1]);
    *(Ints *)(made + i) = __builtin_shufflevector(first, last, 0, 2, 4, 6);
  }
  for (; i < count; ++i) {
    double value;
    memcpy(&value, source + i * sizeof value, sizeof value);
    made[i] = (int)value;
  }
}
static void wholes_of_float(const char *source, void *target, Py_ssize_t count) {
  Unaligned *made = target;
  Py_ssize_t i = 0;
  for (; i + 2 <= count; i += 2) *(Longs *)(made + i) = whole(__builtin_convertvector(*(const FloatPair *)(source + i * sizeof(float)), Doubles));
  for (; i < count; ++i) {
    float value;
    memcpy(&value, source + i * sizeof value, sizeof value);
    made[i] = (long long)value;
  }
}
static void narrow_wholes_of_float(const char *source, void *target, Py_ssize_t count) {
  UnalignedInt *made = target;
  for (Py_ssize_t i = 0; i < count; ++i) {
    float value;
    memcpy(&value, source + i * sizeof value, sizeof value);
    made[i] = (int)value;
  }
}

/* A block of floats or doubles of which all fit; 0: not all do, and nothing is made. */
#define NARROW_DENSE(from, to, made)                                                   \
  static inline int dense_##from##_to_##to(const char *source, char *target, Py_ssize_t count) { \
    if (!all_within_##from(source, count, 0x1p31)) return 0;                           \
    int values[BLOCK];                                                                 \
    narrow_wholes_of_##from(source, values, count);                                    \
    for (Py_ssize_t i = 0; i < count; ++i) {                                           \
      const made result = (made)values[i];                                             \
      memcpy(target + i * sizeof result, &result, sizeof result);                      \
    }                                                                                  \
    return 1;                                                                          \
  }
#define DENSE(from)                                                                    \
  NARROW_DENSE(from, byte, signed char)                                                \
  NARROW_DENSE(from, ubyte, unsigned char)                                             \
  NARROW_DENSE(from, short, short)                                                     \
  NARROW_DENSE(from, ushort, unsigned short)                                           \
  static inline int dense_##from##_to_int(const char *source, char *target, Py_ssize_t count) { \
    if (!all_within_##from(source, count, 0x1p31)) return 0;                           \
    narrow_wholes_of_##from(source, target, count);                                    \
    return 1;                                                                          \
  }                                                                                    \
  static inline int dense_##from##_to_longlong(const char *source, char *target, Py_ssize_t count) { \
    if (!all_within_##from(source, count, 0x1p51)) return 0;                           \
    wholes_of_##from(source, target, count);                                           \
    return 1;                                                                          \
  }                                                                                    \
  static inline int dense_##from##_to_uint(const char *source, char *target, Py_ssize_t count) { \
    if (!all_within_##from(source, count, 0x1p51)) return 0;                           \
    long long values[BLOCK];                                                           \
    wholes_of_##from(source, values, count);                                           \
    for (Py_ssize_t i = 0; i < count; ++i) {                                           \
      const unsigned result = (unsigned)values[i];                                     \
      memcpy(target + i * sizeof result, &result, sizeof result);                      \
    }                                                                                  \
    return 1;                                                                          \
  }
DENSE(float)
DENSE(double)

/* casting="same_value": a number that would become another one is an error, which has the names that types have on x86-64 Linux. */
static const char *name_of(int number) {
  static const char *const integers[INTEGERS] = {"byte", "ubyte", "short", "ushort", "int", "uint", "int", "uint", "long", "ulong"};
  switch (number) {
    case HALF: return "half";
    case FLOAT: return "float";
    case DOUBLE: return "double";
    case CFLOAT: return "cfloat";
    case CDOUBLE: return "cdouble";
    case QUAD: return "longdouble";
    case CQUAD: return "clongdouble";
  }
  return integers[number - FIRST_INTEGER];
}
static const int BITS[] = {8, 16, 32, 32, 64}; /* of each two types of integers */
static int stays_quad(Quad value, int to) {
  unsigned long long whole;
  const int is_signed = (to - FIRST_INTEGER) % 2 == 0;
  if (!whole_of_quad(value, &whole) || !is_whole_quad(value)) return 0;
  const unsigned long long end = 1ULL << (BITS[(to - FIRST_INTEGER) / 2] - 1);
  return is_negative(value) ? whole <= (is_signed ? end : 0) : whole <= (is_signed ? end - 1 : 2 * (end - 1) + 1);
}
static int stays(double value, int to) {
  if (to == FLOAT || to == CFLOAT) return value - value != 0 || (double)(float)value == value;
  const int is_signed = (to - FIRST_INTEGER) % 2 == 0;
  const double half = 1ULL << (BITS[(to - FIRST_INTEGER) / 2] - 1);
  return value >= (is_signed ? -half : 0) && value < (is_signed ? half : 2 * half) && __builtin_trunc(value) == value;
}
static double part_of(const char *at, int number) {
  double value;
  float single;
  unsigned short half;
  switch (number) {
    case HALF: return npy_half_to_float(*(unsigned short *)memcpy(&half, at, sizeof half));
    case FLOAT: case CFLOAT: return *(float *)memcpy(&single, at, sizeof single);
  }
  return *(double *)memcpy(&value, at, sizeof value);
}
static const char *why_not(const char *at, int from, int to) {
  if (from == QUAD || from == CQUAD) {
    Quad parts[2] = {0};
    memcpy(parts, at, from == QUAD ? sizeof(Quad) : sizeof parts);
    return !stays_quad(parts[0], to) ? "" : parts[1].high << 1 | parts[1].low ? ": imag is not 0" : NULL;
  }
  const int is_complex = from == CFLOAT || from == CDOUBLE;
  const double first = part_of(at, from);
  if (!stays(first, to)) return "";
  if (from == HALF && first == 0 && __builtin_signbit(first)) return ""; /* numpy holds the bits of a half against it */
  if (!is_complex) return NULL;
  const double second = part_of(at + (from == CFLOAT ? sizeof(float) : sizeof(double)), from);
  if (to == CFLOAT) return stays(second, to) ? NULL : "";
  return second == 0 ? NULL : ": imag is not 0";
}
static int refuses(const Context *context, char *const *data, Py_ssize_t count, const Py_ssize_t *steps) {
  if (!(context->flags & SAME_VALUE)) return 0;
  const int from = context->types[0]->number, to = context->types[1]->number;
  for (Py_ssize_t i = 0; i < count; ++i) {
    const char *why = why_not(data[0] + i * steps[0], from, to);
    if (why == NULL) continue;
    const PyGILState_STATE state = PyGILState_Ensure(); /* a loop has no thread state */
    PyErr_Format(PyExc_ValueError, "could not cast 'same_value' %s to %s%s", name_of(from), name_of(to), why);
    PyGILState_Release(state);
    return 1;
  }
  return 0;
}

/* From a float as it lies in memory, of which a complex number's second part is left out. */
#define CAST(from, stored, read, to, made, by, dense)                                                               \
  static int from##_to_##to(const Context *context, char *const *data, const Py_ssize_t *dimensions, const Py_ssize_t *steps, void *auxiliary) { \
    const char *source = data[0];                                                                                   \
    char *target = data[1];                                                                                         \
    if (refuses(context, data, dimensions[0], steps)) return -1;                                                    \
    const int is_dense = steps[0] == sizeof(stored) && steps[1] == sizeof(made);                                    \
    int odd = 0;                                                                                                    \
    for (Py_ssize_t left = dimensions[0]; left > 0;) {                                                              \
      const Py_ssize_t count = left < BLOCK ? left : BLOCK;                                                         \
      if (!is_dense || !dense(source, target, count)) {                                                             \
        for (Py_ssize_t i = 0; i < count; ++i) {                                                                    \
          stored value;                                                                                             \
          memcpy(&value, source + i * steps[0], sizeof value);                                                      \
          const made result = (made)by(read(value), &odd);                                                          \
          memcpy(target + i * steps[1], &result, sizeof result);                                                    \
        }                                                                                                           \
      }                                                                                                             \
      left -= count;                                                                                                \
      source += count * steps[0];                                                                                   \
      target += count * steps[1];                                                                                   \
    }                                                                                                               \
    if (odd & BEYOND) return refuse_index(beyond, (made)-1 > 0);                                                    \
    if (odd) npy_set_floatstatus_invalid();                                                                         \
    return 0;                                                                                                       \
  }
#define NEVER(source, target, count) 0
#define CASTS(from, stored, read, dense)                                                  \
  CAST(from, stored, read, byte, signed char, narrow, dense(from, byte))                  \
  CAST(from, stored, read, ubyte, unsigned char, narrow, dense(from, ubyte))              \
  CAST(from, stored, read, short, short, narrow, dense(from, short))                      \
  CAST(from, stored, read, ushort, unsigned short, narrow, dense(from, ushort))           \
  CAST(from, stored, read, int, int, narrow, dense(from, int))                            \
  CAST(from, stored, read, uint, unsigned, wide, dense(from, uint))                       \
  CAST(from, stored, read, long, int, index_of_float, dense(from, int))                   \
  CAST(from, stored, read, ulong, unsigned, unsigned_index_of_float, NEVER)               \
  CAST(from, stored, read, longlong, long long, wide, dense(from, longlong))              \
  CAST(from, stored, read, ulonglong, unsigned long long, widest, dense(from, longlong))
#define BY_BLOCKS(from, to) dense_##from##_to_##to
#define ONE_BY_ONE(from, to) NEVER
CASTS(half, unsigned short, of_half, ONE_BY_ONE)
CASTS(float, float, as_it_is, BY_BLOCKS)
CASTS(double, double, as_it_is, BY_BLOCKS)
#define OF_QUAD(to, made, by) CAST(quad, Quad, , to, made, by, NEVER)
OF_QUAD(byte, signed char, quad_short)
OF_QUAD(ubyte, unsigned char, quad_short)
OF_QUAD(short, short, quad_short)
OF_QUAD(ushort, unsigned short, quad_narrow)
OF_QUAD(int, int, quad_narrow)
OF_QUAD(uint, unsigned, quad_wide)
OF_QUAD(long, int, index_of_quad)
OF_QUAD(ulong, unsigned, unsigned_index_of_quad)
OF_QUAD(longlong, long long, quad_wide)
OF_QUAD(ulonglong, unsigned long long, quad_widest)

/* By numpy's numbers. */
#define LOOPS(from)                                                                                                         \
  {from##_to_byte, from##_to_ubyte, from##_to_short, from##_to_ushort, from##_to_int, from##_to_uint, from##_to_long, from##_to_ulong, \
   from##_to_longlong, from##_to_ulonglong}
static Loop *const LOOPS_OF[4][INTEGERS] = {LOOPS(half), LOOPS(float), LOOPS(double), LOOPS(quad)};

/* A double that is no float any more is an overflow, of which numpy warns too. A number has one part or, side by side, two: one that
 * becomes complex gets a zero, one that was loses its second. */
static int narrowed(char *const *data, Py_ssize_t count, const Py_ssize_t *steps, int read, int written) {
  int overflows = 0;
  for (Py_ssize_t i = 0; i < count; ++i) {
    for (int k = 0; k < written; ++k) {
      double value = 0;
      if (k < read) memcpy(&value, data[0] + i * steps[0] + k * sizeof value, sizeof value);
      const float result = (float)value;
      memcpy(data[1] + i * steps[1] + k * sizeof result, &result, sizeof result);
      overflows |= (result - result != 0) & (value - value == 0);
    }
  }
  return overflows;
}
static int dense_narrowed(char *source, char *target, Py_ssize_t count) {
  int overflows = 0;
  for (Py_ssize_t done = 0; done < count; done += BLOCK) {
    const Py_ssize_t part = count - done < BLOCK ? count - done : BLOCK;
    char *places[2] = {source + done * sizeof(double), target + done * sizeof(float)};
    Py_ssize_t i = 0;
    for (; i + 4 <= part; i += 4) {
      const Doubles *values = (const Doubles *)(places[0] + i * sizeof(double));
      const FloatPair first = __builtin_convertvector(values[0], FloatPair), last = __builtin_convertvector(values[1], FloatPair);
      *(Floats *)(places[1] + i * sizeof(float)) = __builtin_shufflevector(first, last, 0, 1, 2, 3);
    }
    const Py_ssize_t steps[2] = {sizeof(double), sizeof(float)};
    char *rest[2] = {places[0] + i * sizeof(double), places[1] + i * sizeof(float)};
    overflows |= narrowed(rest, part - i, steps, 1, 1);
    if (!all_within_float(places[1], i, INFINITY)) overflows |= narrowed(places, i, steps, 1, 1);
  }
  return overflows;
}
#define NARROWS(name, read, written)                                                                                \
  static int name(const Context *context, char *const *data, const Py_ssize_t *dimensions, const Py_ssize_t *steps, void *auxiliary) { \
    const Py_ssize_t count = dimensions[0];                                                                         \
    if (refuses(context, data, count, steps)) return -1;                                                            \
    const int is_dense = read == written && steps[0] == read * sizeof(double) && steps[1] == written * sizeof(float); \
    if (is_dense ? dense_narrowed(data[0], data[1], count * read) : narrowed(data, count, steps, read, written))    \
      npy_set_floatstatus_overflow();                                                                               \
    return 0;                                                                                                       \
  }
NARROWS(double_to_float, 1, 1)
NARROWS(double_to_cfloat, 1, 2)
NARROWS(cdouble_to_float, 2, 1)
NARROWS(cdouble_to_cfloat, 2, 2)

/* From long doubles numpy's own loops convert. A number that is endless only then was too large, of which numpy warns as well. */
static Loop *own_from_quad[2][HALF + 1];
static int from_quad(const Context *context, char *const *data, const Py_ssize_t *dimensions, const Py_ssize_t *steps, void *auxiliary) {
  const int is_complex = context->types[0]->number == CQUAD, to = context->types[1]->number;
  const int status = own_from_quad[is_complex][to](context, data, dimensions, steps, auxiliary);
  const int parts = to == CFLOAT || to == CDOUBLE ? 1 + is_complex : 1, size = to == CFLOAT ? sizeof(float) : sizeof(double);
  int overflows = 0;
  for (Py_ssize_t i = 0; i < dimensions[0]; ++i) {
    for (int k = 0; k < parts; ++k) {
      const double made = part_of(data[1] + i * steps[1] + k * size, to);
      Quad value;
      memcpy(&value, data[0] + i * steps[0] + k * sizeof value, sizeof value);
      overflows |= made - made != 0 && (value.high >> FRACTION_OF_HIGH & LIMIT) != LIMIT;
    }
  }
  if (overflows) npy_set_floatstatus_overflow();
  return status;
}

static Loop *loop_for(int from, int to) {
  const int is_narrower = to == HALF || to == FLOAT || to == DOUBLE || to == CFLOAT || to == CDOUBLE;
  if (is_narrower && (from == QUAD || from == CQUAD)) return from_quad;
  if (to == FLOAT) return from == DOUBLE ? double_to_float : from == CDOUBLE ? cdouble_to_float : NULL;
  if (to == CFLOAT) return from == DOUBLE ? double_to_cfloat : from == CDOUBLE ? cdouble_to_cfloat : NULL;
  if (to < FIRST_INTEGER || to >= FIRST_INTEGER + INTEGERS) return NULL;
  const int column = to - FIRST_INTEGER;
  switch (from) {
    case HALF: return LOOPS_OF[0][column];
    case FLOAT: case CFLOAT: return LOOPS_OF[1][column];
    case DOUBLE: case CDOUBLE: return LOOPS_OF[2][column];
    case QUAD: case CQUAD: return LOOPS_OF[3][column];
  }
  return to == LONG || to == ULONG ? index_cast(from, to) : NULL;
}

static void *usual_choice; /* of the loop of a conversion */

/* replace(method of a conversion, number of the type it is from, and of that it is to) */
static PyObject *replace(PyObject *Py_UNUSED(module), PyObject *args) {
  BoundMethod *bound;
  int from, to;
  if (!PyArg_ParseTuple(args, "Oii", &bound, &from, &to)) return NULL;
  Loop *const loop = loop_for(from, to);
  if (loop == NULL) return PyErr_Format(PyExc_ValueError, "%d is not converted to %d here", from, to);
  Method *const method = bound->method;
  const int is_time = from == DATETIME || from == TIMEDELTA; /* whose conversion chooses a loop in a way of its own */
  if (method->inputs != 1 || method->outputs != 1 || (method->strided == NULL && !is_time) || (is_time && usual_choice == NULL))
    return PyErr_Format(PyExc_ValueError, "numpy's conversions are not as expected");
  if (loop == from_quad && method->strided != loop) own_from_quad[from == CQUAD][to] = method->strided;
  if (from >= FIRST_INTEGER && from < FIRST_INTEGER + INTEGERS && method->strided != loop)
    index_cast_otherwise(from, to, method->unaligned_strided);
  if (is_time)
    method->loop_for = usual_choice;
  else if (from == FLOAT)
    usual_choice = method->loop_for;
  method->strided = method->contiguous = loop;
  if (method->unaligned_strided != NULL || is_time) method->unaligned_strided = method->unaligned_contiguous = loop;
  Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"replace", replace, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {{Py_mod_multiple_interpreters, Py_MOD_PER_INTERPRETER_GIL_SUPPORTED}, {0, NULL}};

static PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, .m_name = "_casts", .m_size = 0, .m_methods = methods, .m_slots = slots,
};

PyMODINIT_FUNC PyInit__casts(void) { return PyModuleDef_Init(&definition); }
