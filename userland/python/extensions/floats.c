/* The module _floats: what numpy warns of. WebAssembly's arithmetic sets no flags, so what it would have set is seen by the results: one
 * that is no finite number, of operands that are. userland/python/floats_patch.py has numpy call what is here,
 * userland/python/lib/_cloche/libraries/floats.py says for which of its functions. */
#include <Python.h>

enum { DIVIDE = 1, OVERFLOWS = 2, INVALID = 8 };              /* numpy's flags */
enum { HALF = 23, FLOAT = 11, DOUBLE = 12, CFLOAT = 14, CDOUBLE = 15, TIMEDELTA = 22 }; /* numpy's numbers of types */
enum { NOT_WATCHED, PLAIN, POLES, BY_ZERO, POWERS };          /* which infinite results are a division by zero */
enum { NAN_CLASS = 1, INF_CLASS = 2, ZERO_CLASS = 4, ENDLESS = NAN_CLASS | INF_CLASS };
enum { MOST = 5, BLOCK = 2048, WIDEST = 16, PLACES = 256 };

/* The beginnings of numpy's structures. */
typedef struct {
  PyObject_HEAD
  int inputs, outputs;
} Ufunc;

typedef struct {
  PyObject_HEAD
  PyTypeObject *type;
  char kind, character, order, unused;
  int number;
} Descriptor;

typedef struct {
  Ufunc *caller;
  void *method;
  Descriptor *const *types;
} Context;

typedef struct {
  void *functions[4];
  void (*loop)(char **, const Py_ssize_t *, const Py_ssize_t *, void *);
  void *data;
  int may_raise;
} Loop;

void npy_set_floatstatus_divbyzero(void);
void npy_set_floatstatus_overflow(void);
void npy_set_floatstatus_invalid(void);
int PyUFunc_GiveFloatingpointErrors(const char *name, int flags);

/* One operand of a loop. */
typedef struct {
  int number, size, parts; /* of a type: as numpy counts, bytes of a part, 0 parts: none that could be endless */
  char *at;
  Py_ssize_t step;
} Operand;

static struct {
  const void *ufunc;
  int rule;
} watched[PLACES];
static PyTypeObject *ufunc_type, *double_type, *float_type, *inexact_type, *generic_type;
static char kept[MOST][BLOCK * WIDEST]; /* operands that the results take the place of */

static int place_of(const void *ufunc) {
  int place = (uintptr_t)ufunc / 16 % PLACES;
  while (watched[place].ufunc != NULL && watched[place].ufunc != ufunc) place = (place + 1) % PLACES;
  return place;
}

static Operand operand(const Descriptor *type, char *at, Py_ssize_t step) {
  Operand made = {type->number, 0, 0, at, step};
  switch (type->number) {
    case HALF: made.size = 2, made.parts = 1; break;
    case FLOAT: made.size = 4, made.parts = 1; break;
    case DOUBLE: made.size = 8, made.parts = 1; break;
    case CFLOAT: made.size = 4, made.parts = 2; break;
    case CDOUBLE: made.size = 8, made.parts = 2; break;
    case TIMEDELTA: made.size = 8; break;
  }
  return made;
}

static int class_of_part(const char *at, int size) {
  if (size == 2) {
    unsigned short bits;
    memcpy(&bits, at, sizeof bits);
    return (bits & 0x7c00) == 0x7c00 ? (bits & 0x3ff ? NAN_CLASS : INF_CLASS) : bits & 0x7fff ? 0 : ZERO_CLASS;
  }
  double value;
  if (size == 4) {
    float single;
    memcpy(&single, at, sizeof single);
    value = single;
  } else {
    memcpy(&value, at, sizeof value);
  }
  return value != value ? NAN_CLASS : value - value != 0 ? INF_CLASS : value == 0 ? ZERO_CLASS : 0;
}

/* What the element `i` is: ZERO_CLASS where all parts are. */
static int class_of(const Operand *operand, Py_ssize_t i) {
  const char *at = operand->at + i * operand->step;
  if (operand->parts == 0) {
    long long value = 1;
    memcpy(&value, at, operand->size);
    return value == 0 ? ZERO_CLASS : 0;
  }
  const int first = class_of_part(at, operand->size);
  if (operand->parts == 1) return first;
  const int second = class_of_part(at + operand->size, operand->size);
  return ((first | second) & ENDLESS) | (first & second & ZERO_CLASS);
}

/* What the flags of one operation would have been. `inputs` are the classes of all operands together. */
static int flags_of(int rule, int result, int inputs, int first, int last, int is_complex) {
  if (inputs & NAN_CLASS || (is_complex && inputs & ENDLESS)) return 0;
  int flags = result & NAN_CLASS ? INVALID : 0;
  if (result & INF_CLASS && !(inputs & INF_CLASS)) {
    const int is_pole = rule == POLES || (rule == BY_ZERO && last & ZERO_CLASS) || (rule == POWERS && first & ZERO_CLASS);
    flags |= is_pole ? DIVIDE : OVERFLOWS;
  }
  return flags;
}

/* Two looks at many numbers of one type. The first is quick: a sum that is finite had no other operands. The second sees where the flags
 * would not have stayed as they were, among results that may well be endless because of what they were made of. */
#define LOOKS_AT(type, lanes)                                                                                       \
  typedef type Vector_##type __attribute__((vector_size(16), aligned(1)));                                          \
  static int may_be_endless_##type(const char *at, Py_ssize_t count) {                                              \
    Vector_##type sums[8] = {0};                                                                                    \
    Py_ssize_t i = 0;                                                                                               \
    for (; i + 8 * lanes <= count; i += 8 * lanes)                                                                  \
      for (int j = 0; j < 8; ++j) sums[j] += ((const Vector_##type *)(at + i * sizeof(type)))[j];                   \
    type sum = 0;                                                                                                   \
    for (int j = 0; j < 8; ++j)                                                                                     \
      for (int k = 0; k < lanes; ++k) sum += sums[j][k];                                                            \
    for (; i < count; ++i) {                                                                                        \
      type value;                                                                                                   \
      memcpy(&value, at + i * sizeof value, sizeof value);                                                          \
      sum += value;                                                                                                 \
    }                                                                                                               \
    return sum - sum != 0;                                                                                          \
  }                                                                                                                 \
  static Vector_##type values_##type(const Operand *operand, Py_ssize_t i) {                                        \
    Vector_##type values;                                                                                           \
    if (operand->step != 0) return *(const Vector_##type *)(operand->at + i * sizeof(type));                        \
    for (int k = 0; k < lanes; ++k) memcpy((char *)&values + k * sizeof(type), operand->at, sizeof(type));          \
    return values;                                                                                                  \
  }                                                                                                                 \
  /* How many are as they should, in whole vectors. */                                                              \
  static Py_ssize_t unsuspicious_##type(const Operand *operands, int inputs, const Operand *result, Py_ssize_t count) { \
    Py_ssize_t i = 0;                                                                                               \
    for (; i + lanes <= count; i += lanes) {                                                                        \
      const Vector_##type first = values_##type(&operands[0], i), last = values_##type(&operands[inputs - 1], i);   \
      const Vector_##type made = values_##type(result, i);                                                          \
      const Vector_##type of_first = first - first, of_last = last - last, of_made = made - made;                   \
      const __typeof__(made != made) is_nan = made != made, had_nan = (first != first) | (last != last);            \
      const __typeof__(made != made) is_endless = of_made != of_made;                                               \
      const __typeof__(made != made) had_endless = (of_first != of_first) | (of_last != of_last);                   \
      const __typeof__(made != made) wrong = (is_nan & ~had_nan) | (is_endless & ~is_nan & ~had_endless);           \
      if (wrong[0] | wrong[1] | wrong[lanes - 2] | wrong[lanes - 1]) break;                                         \
    }                                                                                                               \
    return i;                                                                                                       \
  }
LOOKS_AT(double, 2)
LOOKS_AT(float, 4)

/* 0: no element is endless, for sure. */
static int may_be_endless(const Operand *operand, Py_ssize_t count) {
  if (operand->parts == 0) return 0;
  if (operand->size > 2 && operand->step == operand->size * operand->parts)
    return operand->size == 8 ? may_be_endless_double(operand->at, count * operand->parts)
                              : may_be_endless_float(operand->at, count * operand->parts);
  for (Py_ssize_t i = 0; i < count; ++i)
    if (class_of(operand, i) & ENDLESS) return 1;
  return 0;
}

/* How many of the first elements need no closer look. */
static Py_ssize_t unsuspicious(const Operand *operands, int inputs, int outputs, Py_ssize_t count) {
  const Operand *result = &operands[inputs];
  if (inputs > 2 || outputs != 1 || result->parts != 1 || result->size == 2 || result->step != result->size) return 0;
  for (int k = 0; k < inputs; ++k) {
    if (operands[k].number != result->number || (operands[k].step != 0 && operands[k].step != result->size)) return 0;
  }
  return result->size == 8 ? unsuspicious_double(operands, inputs, result, count) : unsuspicious_float(operands, inputs, result, count);
}

static void set_flags(int flags) {
  if (flags & DIVIDE) npy_set_floatstatus_divbyzero();
  if (flags & OVERFLOWS) npy_set_floatstatus_overflow();
  if (flags & INVALID) npy_set_floatstatus_invalid();
}

/* `count` results that are there, element by element. */
static int judged(int rule, const Operand *operands, int inputs, int outputs, Py_ssize_t count) {
  int flags = 0;
  for (Py_ssize_t i = unsuspicious(operands, inputs, outputs, count); i < count; ++i) {
    for (int k = inputs; k < inputs + outputs; ++k) {
      const int result = class_of(&operands[k], i);
      if (!(result & ENDLESS)) continue;
      int all = 0, first = 0, last = 0;
      for (int input = 0; input < inputs; ++input) {
        last = class_of(&operands[input], i);
        if (input == 0) first = last;
        all |= last;
      }
      flags |= flags_of(rule, result, all, first, last, operands[k].parts == 2);
    }
  }
  return flags;
}

/* All operands into one result, which is the first operand as well. */
static int judged_reduction(int rule, const Operand *before, const Operand *values, const Operand *result, Py_ssize_t count) {
  const int end = class_of(result, 0);
  if (!(end & ENDLESS)) return 0;
  const int first = class_of(before, 0);
  int others = 0;
  for (Py_ssize_t i = 0; i < count && !((first | others) & NAN_CLASS); ++i) others |= class_of(values, i);
  return flags_of(rule, end, first | others, first, others, result->parts == 2);
}

static void watch_loop(const Context *context, char *const *data, Py_ssize_t count, const Py_ssize_t *steps, const Loop *own, int rule) {
  const int inputs = context->caller->inputs, outputs = context->caller->outputs, all = inputs + outputs;
  Operand operands[MOST];
  for (int k = 0; k < all; ++k) operands[k] = operand(context->types[k], data[k], steps[k]);
  int is_exact = 1;
  for (int k = inputs; k < all; ++k) is_exact &= operands[k].parts == 0;
  if (is_exact) {
    own->loop((char **)data, &count, steps, own->data);
    return;
  }
  char *places[MOST];
  if (inputs == 2 && outputs == 1 && data[0] == data[2] && steps[0] == 0 && steps[2] == 0) {
    Operand before = operands[0];
    before.at = memcpy(kept[0], data[0], before.size * before.parts);
    memcpy(places, data, all * sizeof *places);
    own->loop(places, &count, steps, own->data);
    set_flags(judged_reduction(rule, &before, &operands[1], &operands[2], count));
    return;
  }
  for (Py_ssize_t done = 0; done < count; done += BLOCK) {
    const Py_ssize_t part = count - done < BLOCK ? count - done : BLOCK;
    Operand here[MOST];
    for (int k = 0; k < all; ++k) {
      here[k] = operands[k];
      here[k].at = places[k] = operands[k].at + done * operands[k].step;
    }
    for (int k = 0; k < inputs; ++k) {
      int is_replaced = 0;
      for (int result = inputs; result < all; ++result) is_replaced |= data[k] == data[result] && here[k].parts > 0;
      if (!is_replaced) continue;
      const int size = here[k].size * here[k].parts;
      if (here[k].step == size) {
        memcpy(kept[k], here[k].at, part * size);
      } else {
        for (Py_ssize_t i = 0; i < part; ++i) memcpy(kept[k] + i * size, here[k].at + i * here[k].step, size);
      }
      here[k].at = kept[k];
      here[k].step = size;
    }
    own->loop(places, &part, steps, own->data);
    int may_be = 0;
    for (int k = inputs; k < all; ++k) may_be |= may_be_endless(&here[k], part);
    if (may_be) set_flags(judged(rule, here, inputs, outputs, part));
  }
}

/* In place of numpy's generic_wrapped_legacy_loop. */
int cloche_loop(const Context *context, char *const *data, const Py_ssize_t *dimensions, const Py_ssize_t *steps, const Loop *own) {
  const Ufunc *ufunc = context->caller;
  const int rule = ufunc == NULL || Py_TYPE(ufunc) != ufunc_type ? NOT_WATCHED : watched[place_of(ufunc)].rule;
  if (rule == NOT_WATCHED)
    own->loop((char **)data, dimensions, steps, own->data);
  else
    watch_loop(context, data, dimensions[0], steps, own, rule);
  return own->may_raise && PyErr_Occurred() ? -1 : 0;
}

/* What one number is, as one of the type of the result. */
static int class_of_number(PyObject *number, const PyTypeObject *type) {
  double value;
  if (Py_TYPE(number) == float_type) {
    float single;
    memcpy(&single, (const char *)number + sizeof(PyObject), sizeof single);
    value = single;
  } else {
    value = PyFloat_AsDouble(number);
    if (value == -1 && PyErr_Occurred()) {
      PyErr_Clear();
      return NAN_CLASS;
    }
  }
  if (type == float_type) value = (float)value;
  return class_of_part((const char *)&value, sizeof value);
}

/* Whether numpy makes such a result of these by itself: of arrays, and of numbers that have no type in common, a ufunc makes it, and warns. */
static int is_of_numbers(const PyTypeObject *type, PyObject *const operands[2]) {
  int has_type = 0, are_integers = 1;
  for (int k = 0; k < 2; ++k) {
    const int is_float = PyFloat_Check(operands[k]) || PyObject_TypeCheck(operands[k], inexact_type);
    if (!is_float && !PyLong_Check(operands[k]) && !PyObject_TypeCheck(operands[k], generic_type)) return 0;
    has_type |= PyObject_TypeCheck(operands[k], (PyTypeObject *)type);
    are_integers &= !is_float;
  }
  return has_type || are_integers;
}

static int flags_of_number(PyObject *result, PyObject *first, PyObject *last, int rule) {
  const PyTypeObject *type = Py_TYPE(result);
  if (double_type == NULL || (type != double_type && type != float_type)) return 0;
  const int class = class_of_number(result, type);
  if (!(class & ENDLESS) || !is_of_numbers(type, (PyObject *[]){first, last})) return 0;
  const int of_first = class_of_number(first, type), of_last = class_of_number(last, type);
  return flags_of(rule, class, of_first | of_last, of_first, of_last, 0);
}

/* Operations with numbers of numpy, in their order in floats_patch.py. */
static const struct {
  const char *name;
  int rule;
} OPERATIONS[] = {
    {"scalar add", PLAIN},          {"scalar subtract", PLAIN},     {"scalar multiply", PLAIN}, {"scalar divide", BY_ZERO},
    {"scalar floor_divide", BY_ZERO}, {"scalar remainder", BY_ZERO}, {"scalar power", POWERS},   {"scalar divmod", BY_ZERO},
};

/* What becomes of the result of one: it, or NULL where an exception is set. */
PyObject *cloche_number(PyObject *result, PyObject *first, PyObject *last, int operation) {
  if (result == NULL) return NULL;
  const int rule = OPERATIONS[operation].rule;
  int flags = 0;
  if (PyTuple_CheckExact(result)) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(result); ++i) flags |= flags_of_number(PyTuple_GET_ITEM(result, i), first, last, rule);
  } else {
    flags = flags_of_number(result, first, last, rule);
  }
  if (flags == 0 || PyUFunc_GiveFloatingpointErrors(OPERATIONS[operation].name, flags) == 0) return result;
  Py_DECREF(result);
  return NULL;
}

/* watch(ufunc, rule) */
static PyObject *watch(PyObject *Py_UNUSED(module), PyObject *args) {
  Ufunc *ufunc;
  int rule;
  if (!PyArg_ParseTuple(args, "Oi", &ufunc, &rule)) return NULL;
  if (ufunc->inputs + ufunc->outputs > MOST) return PyErr_Format(PyExc_ValueError, "too many operands");
  const int place = place_of(ufunc);
  watched[place].ufunc = Py_NewRef((PyObject *)ufunc);
  watched[place].rule = rule;
  ufunc_type = Py_TYPE(ufunc);
  Py_RETURN_NONE;
}

/* watch_numbers(float64, float32, inexact, generic) */
static PyObject *watch_numbers(PyObject *Py_UNUSED(module), PyObject *args) {
  PyTypeObject **const types[] = {&double_type, &float_type, &inexact_type, &generic_type};
  if (!PyArg_ParseTuple(args, "OOOO", types[0], types[1], types[2], types[3])) return NULL;
  for (int i = 0; i < 4; ++i) Py_INCREF(*types[i]);
  Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"watch", watch, METH_VARARGS, NULL},
    {"watch_numbers", watch_numbers, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {{Py_mod_multiple_interpreters, Py_MOD_PER_INTERPRETER_GIL_SUPPORTED}, {0, NULL}};

static PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, .m_name = "_floats", .m_size = 0, .m_methods = methods, .m_slots = slots,
};

PyMODINIT_FUNC PyInit__floats(void) { return PyModuleDef_Init(&definition); }
