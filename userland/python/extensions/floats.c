/* The module _floats: what numpy warns of. WebAssembly's arithmetic sets no flags, so what it would have set is seen by the results: one
 * that is no finite number, of operands that are. userland/python/floats_patch.py has numpy call what is here,
 * userland/python/lib/_cloche/libraries/floats.py says for which of its functions. */
#include "floats.h"

enum { NOT_WATCHED, PLAIN, POLES, BY_ZERO, WHOLE_QUOTIENT, POWERS, REMAINDER, NEXT, PRODUCT, TOGETHER }; /* which infinite results are a division by zero */
enum { NO_ARITHMETIC, ADD, SUBTRACT, MULTIPLY, QUOTIENT };     /* what is computed here */
enum { MOST = 5, BLOCK = 2048, WIDEST = 16, PLACES = 256 };

static struct {
  const void *ufunc;
  int rule, arithmetic;
} watched[PLACES];
PyTypeObject *generic_type;
static PyTypeObject *ufunc_type, *inexact_type;
/* The types of single numbers: bytes of a part, and parts. */
static struct {
  PyTypeObject *type;
  int size, parts;
} number_types[] = {{NULL, 8, 1}, {NULL, 4, 1}, {NULL, 2, 1}, {NULL, 8, 2}, {NULL, 4, 2}, {NULL, 16, 1}, {NULL, 16, 2}};
enum { NUMBER_TYPES = sizeof number_types / sizeof *number_types };
static char kept[MOST][BLOCK * WIDEST]; /* operands that the results take the place of */

static int place_of(const void *ufunc) {
  int place = (uintptr_t)ufunc / 16 % PLACES;
  while (watched[place].ufunc != NULL && watched[place].ufunc != ufunc) place = (place + 1) % PLACES;
  return place;
}

Operand operand(int number, char *at, Py_ssize_t step) {
  Operand made = {number, 0, 0, at, step};
  switch (number) {
    case HALF: made.size = 2, made.parts = 1; break;
    case FLOAT: made.size = 4, made.parts = 1; break;
    case DOUBLE: made.size = 8, made.parts = 1; break;
    case QUAD: made.size = 16, made.parts = 1; break;
    case CQUAD: made.size = 16, made.parts = 2; break;
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
  if (size == 16) {
    unsigned long long parts[2];
    memcpy(parts, at, sizeof parts);
    const unsigned long long high = parts[1] << 1, limit = 0x7fffULL << 49; /* without its sign */
    return high >= limit ? (high > limit || parts[0] != 0 ? NAN_CLASS : INF_CLASS) : high | parts[0] ? 0 : ZERO_CLASS;
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

int class_of(const Operand *operand, Py_ssize_t i) {
  const char *at = operand->at + i * operand->step;
  if (operand->parts == 0) {
    long long value = 1;
    memcpy(&value, at, operand->size);
    return value == 0 ? ZERO_CLASS : value == LLONG_MIN ? NAN_CLASS : 0; /* no time at all, NaT, is the least one */
  }
  const int first = class_of_part(at, operand->size);
  if (operand->parts == 1) return first;
  const int second = class_of_part(at + operand->size, operand->size);
  return ((first | second) & ENDLESS) | (first & second & ZERO_CLASS);
}

/* What the flags of one operation would have been. `inputs` are the classes of all operands together. Which functions of complex numbers that
 * are endless set flags is known of the arithmetic alone. */
static int flags_of(int rule, int result, int inputs, int first, int last, int is_complex, int is_arithmetic) {
  if (rule == NEXT) return result & INF_CLASS && !(first & ENDLESS) ? OVERFLOWS : 0;
  if (inputs & NAN_CLASS || (is_complex && !is_arithmetic && inputs & ENDLESS)) return 0;
  int flags = result & NAN_CLASS ? INVALID : 0;
  if (result & INF_CLASS && !(inputs & INF_CLASS)) {
    const int is_by_zero = (rule == BY_ZERO || rule == WHOLE_QUOTIENT) && last & ZERO_CLASS;
    if (is_by_zero || rule == POLES || (rule == POWERS && first & ZERO_CLASS))
      flags |= DIVIDE;
    else
      flags |= rule == WHOLE_QUOTIENT ? OVERFLOWS | INVALID : OVERFLOWS; /* that is compared with what it was rounded from */
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

/* The cheapest operations would take much longer with a second look at what they made, so they are done here, eight vectors at a time,
 * whose sum is taken before they leave the registers. It ends before the first eight that may have an endless one among them, of which
 * nothing is written. How many are done. */
#define COMPUTES(type, lanes, name, operator)                                                                       \
  static inline __attribute__((always_inline)) Py_ssize_t name##_of_##type(                                         \
      const char *first, const char *last, char *made, Py_ssize_t count, int one_first, int one_last) {             \
    Vector_##type of_first, of_last;                                                                                \
    type value;                                                                                                     \
    memcpy(&value, first, sizeof value);                                                                            \
    for (int k = 0; k < lanes; ++k) of_first[k] = value;                                                            \
    memcpy(&value, last, sizeof value);                                                                             \
    for (int k = 0; k < lanes; ++k) of_last[k] = value;                                                             \
    Py_ssize_t i = 0;                                                                                               \
    for (; i + 8 * lanes <= count; i += 8 * lanes) {                                                                \
      const Vector_##type *firsts = (const Vector_##type *)(first + i * sizeof value);                              \
      const Vector_##type *lasts = (const Vector_##type *)(last + i * sizeof value);                                \
      Vector_##type results[8];                                                                                     \
      for (int j = 0; j < 8; ++j) results[j] = (one_first ? of_first : firsts[j]) operator (one_last ? of_last : lasts[j]); \
      const Vector_##type sum = ((results[0] + results[1]) + (results[2] + results[3])) +                           \
                                ((results[4] + results[5]) + (results[6] + results[7]));                            \
      const Vector_##type nothing = sum - sum;                                                                      \
      if (__builtin_wasm_any_true_v128((Bytes)(nothing != nothing))) break;                                         \
      for (int j = 0; j < 8; ++j) ((Vector_##type *)(made + i * sizeof value))[j] = results[j];                     \
    }                                                                                                               \
    return i;                                                                                                       \
  }                                                                                                                 \
  static Py_ssize_t name##_##type(const char *first, Py_ssize_t first_step, const char *last, Py_ssize_t last_step, char *made, \
                                  Py_ssize_t count) {                                                               \
    if (first_step == 0) return name##_of_##type(first, last, made, count, 1, 0);                                   \
    if (last_step == 0) return name##_of_##type(first, last, made, count, 0, 1);                                    \
    return name##_of_##type(first, last, made, count, 0, 0);                                                        \
  }
typedef signed char Bytes __attribute__((vector_size(16)));
COMPUTES(double, 2, add, +)
COMPUTES(double, 2, subtract, -)
COMPUTES(double, 2, multiply, *)
COMPUTES(double, 2, quotient, /)
COMPUTES(float, 4, add, +)
COMPUTES(float, 4, subtract, -)
COMPUTES(float, 4, multiply, *)
COMPUTES(float, 4, quotient, /)

/* By type and arithmetic. */
static Py_ssize_t (*const COMPUTED[2][5])(const char *, Py_ssize_t, const char *, Py_ssize_t, char *, Py_ssize_t) = {
    {NULL, add_double, subtract_double, multiply_double, quotient_double},
    {NULL, add_float, subtract_float, multiply_float, quotient_float},
};

/* Whether `count` results may be written before operands that come later are read. */
static int can_compute(const Operand *operands, Py_ssize_t count) {
  const Operand *made = &operands[2];
  if ((made->number != DOUBLE && made->number != FLOAT) || made->step != made->size) return 0;
  for (int k = 0; k < 2; ++k) {
    const Operand *read = &operands[k];
    if (read->number != made->number || (read->step != 0 && read->step != made->size)) return 0;
    const Py_ssize_t length = read->step == 0 ? made->size : count * made->size;
    const int is_apart = read->at + length <= made->at || made->at + count * made->size <= read->at;
    if (!is_apart && (read->at != made->at || read->step == 0)) return 0;
  }
  return operands[0].step != 0 || operands[1].step != 0;
}

int may_be_endless(const Operand *operand, Py_ssize_t count) {
  if (operand->parts == 0) return 0;
  if ((operand->size == 4 || operand->size == 8) && operand->step == operand->size * operand->parts)
    return operand->size == 8 ? may_be_endless_double(operand->at, count * operand->parts)
                              : may_be_endless_float(operand->at, count * operand->parts);
  for (Py_ssize_t i = 0; i < count; ++i)
    if (class_of(operand, i) & ENDLESS) return 1;
  return 0;
}

/* How many of the first elements need no closer look. */
static Py_ssize_t unsuspicious(const Operand *operands, int inputs, int outputs, Py_ssize_t count) {
  const Operand *result = &operands[inputs];
  if (inputs > 2 || outputs != 1 || result->parts != 1 || (result->size != 8 && result->size != 4) || result->step != result->size) return 0;
  for (int k = 0; k < inputs; ++k) {
    if (operands[k].number != result->number || (operands[k].step != 0 && operands[k].step != result->size)) return 0;
  }
  return result->size == 8 ? unsuspicious_double(operands, inputs, result, count) : unsuspicious_float(operands, inputs, result, count);
}

void set_flags(int flags) {
  if (flags & DIVIDE) npy_set_floatstatus_divbyzero();
  if (flags & OVERFLOWS) npy_set_floatstatus_overflow();
  if (flags & INVALID) npy_set_floatstatus_invalid();
}

/* `count` results that are there, element by element. */
static int judged(int rule, int arithmetic, const Operand *operands, int inputs, int outputs, Py_ssize_t count) {
  int flags = 0;
  for (Py_ssize_t i = rule == NEXT ? 0 : unsuspicious(operands, inputs, outputs, count); i < count; ++i) {
    for (int k = inputs; k < inputs + outputs; ++k) {
      const int result = class_of(&operands[k], i);
      if (!(result & ENDLESS)) continue;
      int all = 0, first = 0, last = 0;
      for (int input = 0; input < inputs; ++input) {
        last = class_of(&operands[input], i);
        if (input == 0) first = last;
        all |= last;
      }
      const int own_rule = rule == WHOLE_QUOTIENT && operands[k].size == 2 ? BY_ZERO : rule; /* halves are divided as floats */
      flags |= flags_of(own_rule, result, all, first, last, operands[k].parts == 2, arithmetic != NO_ARITHMETIC);
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
  return flags_of(rule, end, first | others, first, others, result->parts == 2, 0);
}

/* A time by a float: none at all where it is not within the range. */
static int judged_times(int rule, const Operand *operands, Py_ssize_t count) {
  if (operands[2].number != TIMEDELTA || operands[0].parts + operands[1].parts == 0) return 0;
  int flags = 0;
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (!(class_of(&operands[2], i) & NAN_CLASS)) continue;
    const int last = class_of(&operands[1], i);
    if (!((class_of(&operands[0], i) | last) & ENDLESS)) flags |= rule == BY_ZERO && last & ZERO_CLASS ? DIVIDE : INVALID;
  }
  return flags;
}

/* The reciprocal of an integer is 1 by it, as a float, which is made an integer again. */
#define HAS_ZERO(type)                                                   \
  for (Py_ssize_t i = 0; i < count; ++i) {                               \
    type value;                                                          \
    memcpy(&value, operand->at + i * operand->step, sizeof value);       \
    if (value == 0) return DIVIDE | INVALID;                             \
  }                                                                      \
  return 0
static int judged_integers(const Operand *operand, Py_ssize_t count) {
  switch (operand->number) { /* a long has 32 bits here */
    case 0: case 1: case 2: HAS_ZERO(char);
    case 3: case 4: HAS_ZERO(short);
    case 5: case 6: case 7: case 8: HAS_ZERO(int);
    case 9: case 10: HAS_ZERO(long long);
  }
  return 0;
}

static void watch_loop(const Context *context, char *const *data, Py_ssize_t count, const Py_ssize_t *steps, const OldLoop *own, int rule,
                       int arithmetic) {
  const Ufunc *ufunc = context->caller;
  const int inputs = ufunc->inputs, outputs = ufunc->outputs, all = inputs + outputs;
  Operand operands[MOST];
  for (int k = 0; k < all; ++k) operands[k] = operand(context->types[k]->number, data[k], steps[k]);
  int is_exact = 1;
  for (int k = inputs; k < all; ++k) is_exact &= operands[k].parts == 0;
  if (is_exact) {
    if (inputs == 1 && rule == BY_ZERO) set_flags(judged_integers(&operands[0], count));
    own->loop((char **)data, &count, steps, own->data);
    if (inputs == 2 && data[0] != data[2] && data[1] != data[2]) set_flags(judged_times(rule, operands, count));
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
  const int is_computed = arithmetic != NO_ARITHMETIC && can_compute(operands, count);
  Py_ssize_t block = BLOCK;
  for (int k = 0; k < inputs; ++k)
    if (operands[k].size * operands[k].parts > WIDEST) block = BLOCK / 2;
  for (Py_ssize_t done = 0; done < count; done += block) {
    if (is_computed) {
      done += COMPUTED[operands[0].number == FLOAT][arithmetic](operands[0].at + done * operands[0].step, operands[0].step,
                                                                operands[1].at + done * operands[1].step, operands[1].step,
                                                                operands[2].at + done * operands[2].step, count - done);
    }
    const Py_ssize_t part = count - done < block ? count - done : block;
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
    if (may_be) set_flags(judged(rule, arithmetic, here, inputs, outputs, part));
  }
}

/* In place of numpy's generic_wrapped_legacy_loop. */
int cloche_loop(const Context *context, char *const *data, const Py_ssize_t *dimensions, const Py_ssize_t *steps, const OldLoop *own) {
  const Ufunc *ufunc = context->caller;
  const int place = ufunc == NULL || Py_TYPE(ufunc) != ufunc_type ? -1 : place_of(ufunc);
  const int rule = place < 0 ? NOT_WATCHED : watched[place].rule;
  if (rule == NOT_WATCHED) {
    own->loop((char **)data, dimensions, steps, own->data);
  } else if (rule < PRODUCT) {
    watch_loop(context, data, dimensions[0], steps, own, rule, watched[place].arithmetic);
  } else {
    char *places[MOST]; /* which such a loop may move */
    memcpy(places, data, (ufunc->inputs + ufunc->outputs) * sizeof *places);
    own->loop(places, dimensions, steps, own->data);
    set_flags((rule == PRODUCT ? judged_product : judged_whole)(context, data, dimensions, steps));
  }
  if (loop_has_raised) {
    loop_has_raised = 0;
    return -1;
  }
  return own->may_raise && PyErr_Occurred() ? -1 : 0;
}

/* Which of number_types, or NUMBER_TYPES. */
static int number_type(const PyTypeObject *type) {
  int found = 0;
  while (found < NUMBER_TYPES && number_types[found].type != type) ++found;
  return found;
}

/* One number as two parts, of which the second may be 0. Of a half and of a long double only its class is kept. */
static int parts_of(PyObject *number, double parts[2]) {
  parts[1] = 0;
  const int type = number_type(Py_TYPE(number));
  if (type == NUMBER_TYPES) {
    if (PyComplex_Check(number)) {
      parts[0] = PyComplex_RealAsDouble(number);
      parts[1] = PyComplex_ImagAsDouble(number);
      return 1;
    }
    parts[0] = PyFloat_AsDouble(number);
    if (parts[0] != -1 || !PyErr_Occurred()) return 1;
    PyErr_Clear();
    return 0;
  }
  const int size = number_types[type].size;
  for (int k = 0; k < number_types[type].parts; ++k) {
    const char *at = (const char *)number + (size == 16 ? 16 : sizeof(PyObject)) + k * size; /* a long double's place */
    float single;
    switch (size) {
      case 8: memcpy(&parts[k], at, size); break;
      case 4: parts[k] = *(float *)memcpy(&single, at, size); break;
      default: {
        const int class = class_of_part(at, size);
        parts[k] = class & NAN_CLASS ? NAN : class & INF_CLASS ? INFINITY : class & ZERO_CLASS ? 0 : 1;
      }
    }
  }
  return 1;
}

/* What one number is, as one of the type of the result. */
static int class_of_number(PyObject *number, int type) {
  double parts[2];
  if (!parts_of(number, parts)) return NAN_CLASS;
  int class[2];
  for (int k = 0; k < 2; ++k) {
    if (number_types[type].size == 4) parts[k] = (float)parts[k];
    if (number_types[type].size == 2) parts[k] = fabs(parts[k]) >= 65520 ? INFINITY * parts[k] : fabs(parts[k]) <= 0x1p-25 ? 0 : parts[k];
    class[k] = class_of_part((const char *)&parts[k], sizeof *parts);
  }
  return ((class[0] | class[1]) & ENDLESS) | (class[0] & class[1] & ZERO_CLASS);
}

/* Whether numpy makes such a result of these by itself: of arrays, and of numbers that have no type in common, a ufunc makes it, and warns. */
static int is_of_numbers(const PyTypeObject *type, PyObject *const operands[2]) {
  int has_type = 0, are_integers = 1;
  for (int k = 0; k < 2; ++k) {
    const int is_float = PyFloat_Check(operands[k]) || PyComplex_Check(operands[k]) || PyObject_TypeCheck(operands[k], inexact_type);
    if (!is_float && !PyLong_Check(operands[k]) && !PyObject_TypeCheck(operands[k], generic_type)) return 0;
    has_type |= PyObject_TypeCheck(operands[k], (PyTypeObject *)type);
    are_integers &= !is_float;
  }
  return has_type || are_integers;
}

static int flags_of_number(PyObject *result, PyObject *first, PyObject *last, int rule, int is_arithmetic) {
  const int type = number_type(Py_TYPE(result));
  if (type == NUMBER_TYPES) return 0;
  const int class = class_of_number(result, type);
  if (!(class & ENDLESS) || !is_of_numbers(Py_TYPE(result), (PyObject *[]){first, last})) return 0;
  const int of_first = class_of_number(first, type), of_last = class_of_number(last, type);
  const int is_half = number_types[type].size == 2;
  int flags = flags_of(rule == WHOLE_QUOTIENT && is_half ? BY_ZERO : rule, class, of_first | of_last, of_first, of_last,
                       number_types[type].parts == 2, is_arithmetic);
  if (is_half) {
    flags &= ~OVERFLOWS; /* numpy tells that of a half itself */
    if (rule == REMAINDER && of_last & ZERO_CLASS && of_first == 0) flags |= DIVIDE; /* it divides halves as well */
  }
  return flags;
}

/* Operations with numbers of numpy, in their order in floats_patch.py. */
static const struct {
  const char *name;
  int rule;
} OPERATIONS[] = {
    {"scalar add", PLAIN},          {"scalar subtract", PLAIN},     {"scalar multiply", PLAIN}, {"scalar divide", BY_ZERO},
    {"scalar floor_divide", WHOLE_QUOTIENT}, {"scalar remainder", REMAINDER}, {"scalar power", POWERS}, {"scalar divmod", WHOLE_QUOTIENT},
};

/* What becomes of the result of one: it, or NULL where an exception is set. */
PyObject *cloche_number(PyObject *result, PyObject *first, PyObject *last, int operation) {
  if (result == NULL) return NULL;
  const int rule = OPERATIONS[operation].rule, is_arithmetic = operation < QUOTIENT;
  int flags = 0;
  if (PyTuple_CheckExact(result)) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(result); ++i) flags |= flags_of_number(PyTuple_GET_ITEM(result, i), first, last, rule, is_arithmetic);
  } else {
    flags = flags_of_number(result, first, last, rule, is_arithmetic);
  }
  if (flags == 0 || PyUFunc_GiveFloatingpointErrors(OPERATIONS[operation].name, flags) == 0) return result;
  Py_DECREF(result);
  return NULL;
}

/* watch(ufunc, rule, arithmetic) */
static PyObject *watch(PyObject *Py_UNUSED(module), PyObject *args) {
  Ufunc *ufunc;
  int rule, arithmetic;
  if (!PyArg_ParseTuple(args, "Oii", &ufunc, &rule, &arithmetic)) return NULL;
  if (ufunc->inputs + ufunc->outputs > MOST) return PyErr_Format(PyExc_ValueError, "too many operands");
  const int place = place_of(ufunc);
  watched[place].ufunc = Py_NewRef((PyObject *)ufunc);
  watched[place].rule = rule;
  watched[place].arithmetic = arithmetic;
  ufunc_type = Py_TYPE(ufunc);
  Py_RETURN_NONE;
}

/* watch_numbers(inexact, generic, float64, float32, float16, complex128, complex64, longdouble, clongdouble) */
static PyObject *watch_numbers(PyObject *Py_UNUSED(module), PyObject *args) {
  PyTypeObject *types[NUMBER_TYPES];
  if (!PyArg_ParseTuple(args, "OOOOOOOOO", &inexact_type, &generic_type, &types[0], &types[1], &types[2], &types[3], &types[4], &types[5], &types[6])) return NULL;
  Py_INCREF(inexact_type);
  Py_INCREF(generic_type);
  for (int i = 0; i < NUMBER_TYPES; ++i) number_types[i].type = (PyTypeObject *)Py_NewRef((PyObject *)types[i]);
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
