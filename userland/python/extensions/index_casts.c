/* Integers and times that become indices: one that has more than 32 bits is an OverflowError, and is not cut off. Where indices have 64 bits
 * it would fit. Numbers that lie side by side are done four at a time. */
#include "indices.h"

enum { SAME_VALUE = 1 }; /* a flag of a context */
enum { SOURCES = TIMEDELTA + 1 };
typedef int Ints __attribute__((vector_size(16), aligned(1)));
typedef signed char Bytes __attribute__((vector_size(16)));

static Loop *otherwise[2][SOURCES];

void index_cast_otherwise(int from, int to, Loop *own) { otherwise[to - LONG][from] = own; }

/* What the high halves of numbers of 64 bits must be to be indices, by the low ones: a vector is zero where they are. */
#define ODD_longlong_long(low, high) (high ^ (low >> 31))
#define ODD_ulonglong_long(low, high) (high | (low >> 31))
#define ODD_longlong_ulong(low, high) (high)
#define ODD_ulonglong_ulong(low, high) (high)

/* How many are done before the first 16 of which one does not fit. */
#define HALVES(from, to)                                                                              \
  static Py_ssize_t dense_##from##_to_##to(const char *source, char *target, Py_ssize_t count) {      \
    Py_ssize_t i = 0;                                                                                 \
    for (; i + 16 <= count; i += 16) {                                                                \
      Ints low[4], odd = {0};                                                                         \
      for (int j = 0; j < 4; ++j) {                                                                   \
        const Ints *pairs = (const Ints *)(source + 8 * i + 32 * j);                                   \
        const Ints high = __builtin_shufflevector(pairs[0], pairs[1], 1, 3, 5, 7);                      \
        low[j] = __builtin_shufflevector(pairs[0], pairs[1], 0, 2, 4, 6);                               \
        odd |= ODD_##from##_##to(low[j], high);                                                       \
      }                                                                                               \
      if (__builtin_wasm_any_true_v128((Bytes)odd)) break;                                            \
      for (int j = 0; j < 4; ++j) *(Ints *)(target + 4 * i + 16 * j) = low[j];                        \
    }                                                                                                 \
    return i;                                                                                         \
  }
HALVES(longlong, long)
HALVES(ulonglong, long)
HALVES(longlong, ulong)
HALVES(ulonglong, ulong)

/* Of numbers of 32 bits with the other sign. */
static Py_ssize_t dense_int(const char *source, char *target, Py_ssize_t count) {
  Py_ssize_t i = 0;
  for (; i + 16 <= count; i += 16) {
    Ints values[4], all = {0};
    for (int j = 0; j < 4; ++j) all |= values[j] = *(const Ints *)(source + 4 * i + 16 * j);
    if (__builtin_wasm_any_true_v128((Bytes)(all >> 31))) break;
    for (int j = 0; j < 4; ++j) *(Ints *)(target + 4 * i + 16 * j) = values[j];
  }
  return i;
}

#define NONE(source, target, count) 0
#define INDEX_CAST(from, stored, to, made, fits, dense)                                                             \
  static int from##_to_##to(const Context *context, char *const *data, const Py_ssize_t *dimensions, const Py_ssize_t *steps, void *auxiliary) { \
    const Py_ssize_t count = dimensions[0], source_step = steps[0], target_step = steps[1];                         \
    if (context->flags & SAME_VALUE) {                                                                              \
      Loop *const own = otherwise[context->types[1]->number - LONG][context->types[0]->number];                     \
      if (own != NULL) return own(context, data, dimensions, steps, auxiliary);                                     \
    }                                                                                                               \
    Py_ssize_t i = source_step == sizeof(stored) && target_step == sizeof(made) ? dense(data[0], data[1], count) : 0; \
    for (; i + 4 <= count; i += 4) {                                                                                \
      made indices[4];                                                                                              \
      int all_fit = 1;                                                                                              \
      for (int j = 0; j < 4; ++j) {                                                                                 \
        stored value;                                                                                               \
        memcpy(&value, data[0] + (i + j) * source_step, sizeof value);                                              \
        all_fit &= (fits);                                                                                          \
        indices[j] = (made)value;                                                                                   \
      }                                                                                                             \
      if (!all_fit) break;                                                                                          \
      for (int j = 0; j < 4; ++j) memcpy(data[1] + (i + j) * target_step, &indices[j], sizeof *indices);            \
    }                                                                                                               \
    for (; i < count; ++i) {                                                                                        \
      stored value;                                                                                                 \
      memcpy(&value, data[0] + i * source_step, sizeof value);                                                      \
      if (!(fits)) return refuse_index(value, (stored)-1 > 0);                                                      \
      const made index = (made)value;                                                                               \
      memcpy(data[1] + i * target_step, &index, sizeof index);                                                      \
    }                                                                                                               \
    return 0;                                                                                                       \
  }
INDEX_CAST(longlong, long long, long, int, value == (int)value, dense_longlong_to_long)
INDEX_CAST(ulonglong, unsigned long long, long, int, value <= INT_MAX, dense_ulonglong_to_long)
INDEX_CAST(uint, unsigned, long, int, value <= INT_MAX, dense_int)
INDEX_CAST(byte, signed char, ulong, unsigned, value >= 0, NONE)
INDEX_CAST(short, short, ulong, unsigned, value >= 0, NONE)
INDEX_CAST(int, int, ulong, unsigned, value >= 0, dense_int)
INDEX_CAST(longlong, long long, ulong, unsigned, value >= 0 && value <= UINT_MAX, dense_longlong_to_ulong)
INDEX_CAST(ulonglong, unsigned long long, ulong, unsigned, value <= UINT_MAX, dense_ulonglong_to_ulong)

Loop *index_cast(int from, int to) {
  enum { BYTE = 1, SHORT = 3, INT = 5, UINT = 6 };
  switch (from) {
    case BYTE: return to == ULONG ? byte_to_ulong : NULL;
    case SHORT: return to == ULONG ? short_to_ulong : NULL;
    case INT: case LONG: return to == ULONG ? int_to_ulong : NULL;
    case UINT: case ULONG: return to == LONG ? uint_to_long : NULL;
    case LONGLONG: case DATETIME: case TIMEDELTA: return to == LONG ? longlong_to_long : longlong_to_ulong;
    case ULONGLONG: return to == LONG ? ulonglong_to_long : ulonglong_to_ulong;
  }
  return NULL;
}
