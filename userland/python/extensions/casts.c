/* The module _casts: what becomes of a float that is converted to an integer in numpy. What does not fit becomes what x86-64 makes of it,
 * as on the machines that programs are written on: WebAssembly's instructions give the nearest integer, and tell of nothing. numpy warns of
 * it there, and here. userland/python/lib/_cloche/libraries/floats.py says for which of its types. */
#include <Python.h>

enum { HALF = 23, FLOAT = 11, DOUBLE = 12, CFLOAT = 14, CDOUBLE = 15 }; /* numpy's numbers of types */
enum { FIRST_INTEGER = 1, INTEGERS = 10 };                              /* byte to ulonglong */

/* The beginnings of numpy's structures. */
typedef int Loop(void *context, char *const *data, const Py_ssize_t *dimensions, const Py_ssize_t *steps, void *auxiliary);

typedef struct {
  PyObject_HEAD
  char *name;
  int inputs, outputs, casting, flags;
  void *functions[5];
  Loop *strided, *contiguous, *unaligned_strided, *unaligned_contiguous;
} Method;

typedef struct {
  PyObject_HEAD
  void *types;
  Method *method;
} BoundMethod;

void npy_set_floatstatus_invalid(void);
void npy_set_floatstatus_overflow(void);
float npy_half_to_float(unsigned short half);

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

static inline float of_half(unsigned short half) { return npy_half_to_float(half); }
static inline double as_it_is(double value) { return value; }

enum { BLOCK = 256 };

/* From a float as it lies in memory, of which a complex number's second part is left out. Of numbers that lie side by side it is seen first
 * whether all of a block are within `end`, both of which the compiler makes vectors of: these are as their instruction makes them. */
#define CAST(from, stored, read, to, made, through, end, by)                                                        \
  static inline int all_fit_##from##_##to(const char *source, Py_ssize_t count) {                                   \
    int fit = 1;                                                                                                    \
    for (Py_ssize_t i = 0; i < count; ++i) {                                                                        \
      stored value;                                                                                                 \
      memcpy(&value, source + i * sizeof value, sizeof value);                                                      \
      fit &= (read(value) > -(stored)end) & (read(value) < (stored)end);                                            \
    }                                                                                                               \
    return fit;                                                                                                     \
  }                                                                                                                 \
  static int from##_to_##to(void *context, char *const *data, const Py_ssize_t *dimensions, const Py_ssize_t *steps, void *auxiliary) { \
    const char *source = data[0];                                                                                   \
    char *target = data[1];                                                                                         \
    const int is_dense = steps[0] == sizeof(stored) && steps[1] == sizeof(made) && sizeof(stored) > 2;              \
    int odd = 0;                                                                                                    \
    for (Py_ssize_t left = dimensions[0]; left > 0;) {                                                              \
      const Py_ssize_t count = left < BLOCK ? left : BLOCK;                                                         \
      if (is_dense && all_fit_##from##_##to(source, count)) {                                                       \
        for (Py_ssize_t i = 0; i < count; ++i) {                                                                    \
          stored value;                                                                                             \
          memcpy(&value, source + i * sizeof value, sizeof value);                                                  \
          const made result = (made)(through)read(value);                                                           \
          memcpy(target + i * sizeof result, &result, sizeof result);                                               \
        }                                                                                                           \
      } else {                                                                                                      \
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
    if (odd) npy_set_floatstatus_invalid();                                                                         \
    return 0;                                                                                                       \
  }
#define CASTS(from, stored, read)                                              \
  CAST(from, stored, read, byte, signed char, int, 0x1p31, narrow)             \
  CAST(from, stored, read, ubyte, unsigned char, int, 0x1p31, narrow)          \
  CAST(from, stored, read, short, short, int, 0x1p31, narrow)                  \
  CAST(from, stored, read, ushort, unsigned short, int, 0x1p31, narrow)        \
  CAST(from, stored, read, int, int, int, 0x1p31, narrow)                      \
  CAST(from, stored, read, uint, unsigned, long long, 0x1p63, wide)            \
  CAST(from, stored, read, longlong, long long, long long, 0x1p63, wide)       \
  CAST(from, stored, read, ulonglong, unsigned long long, long long, 0x1p63, widest)
CASTS(half, unsigned short, of_half)
CASTS(float, float, as_it_is)
CASTS(double, double, as_it_is)

/* By numpy's numbers; a long has 32 bits here. */
#define LOOPS(from)                                                                                                         \
  {from##_to_byte, from##_to_ubyte, from##_to_short, from##_to_ushort, from##_to_int, from##_to_uint, from##_to_int, from##_to_uint, \
   from##_to_longlong, from##_to_ulonglong}
static Loop *const LOOPS_OF[3][INTEGERS] = {LOOPS(half), LOOPS(float), LOOPS(double)};

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
static int dense_narrowed(const char *source, char *target, Py_ssize_t count) {
  int overflows = 0;
  for (Py_ssize_t i = 0; i < count; ++i) {
    double value;
    memcpy(&value, source + i * sizeof value, sizeof value);
    const float result = (float)value;
    memcpy(target + i * sizeof result, &result, sizeof result);
    overflows |= (result - result != 0) & (value - value == 0);
  }
  return overflows;
}
#define NARROWS(name, read, written)                                                                                \
  static int name(void *context, char *const *data, const Py_ssize_t *dimensions, const Py_ssize_t *steps, void *auxiliary) { \
    const Py_ssize_t count = dimensions[0];                                                                         \
    const int is_dense = read == written && steps[0] == read * sizeof(double) && steps[1] == written * sizeof(float); \
    if (is_dense ? dense_narrowed(data[0], data[1], count * read) : narrowed(data, count, steps, read, written))    \
      npy_set_floatstatus_overflow();                                                                               \
    return 0;                                                                                                       \
  }
NARROWS(double_to_float, 1, 1)
NARROWS(double_to_cfloat, 1, 2)
NARROWS(cdouble_to_float, 2, 1)
NARROWS(cdouble_to_cfloat, 2, 2)

static Loop *loop_for(int from, int to) {
  if (to == FLOAT) return from == DOUBLE ? double_to_float : from == CDOUBLE ? cdouble_to_float : NULL;
  if (to == CFLOAT) return from == DOUBLE ? double_to_cfloat : from == CDOUBLE ? cdouble_to_cfloat : NULL;
  if (to < FIRST_INTEGER || to >= FIRST_INTEGER + INTEGERS) return NULL;
  const int column = to - FIRST_INTEGER;
  switch (from) {
    case HALF: return LOOPS_OF[0][column];
    case FLOAT: case CFLOAT: return LOOPS_OF[1][column];
    case DOUBLE: case CDOUBLE: return LOOPS_OF[2][column];
  }
  return NULL;
}

/* replace(method of a conversion, number of the type it is from, and of that it is to) */
static PyObject *replace(PyObject *Py_UNUSED(module), PyObject *args) {
  BoundMethod *bound;
  int from, to;
  if (!PyArg_ParseTuple(args, "Oii", &bound, &from, &to)) return NULL;
  Loop *const loop = loop_for(from, to);
  if (loop == NULL) return PyErr_Format(PyExc_ValueError, "%d is not converted to %d here", from, to);
  Method *const method = bound->method;
  if (method->inputs != 1 || method->outputs != 1 || method->strided == NULL)
    return PyErr_Format(PyExc_ValueError, "numpy's conversions are not as expected");
  method->strided = method->contiguous = loop;
  if (method->unaligned_strided != NULL) method->unaligned_strided = method->unaligned_contiguous = loop;
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
