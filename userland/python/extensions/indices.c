/* What becomes of arrays of indices beside their loops (index_loops.c) and conversions (index_casts.c). */
#include "indices.h"

enum { WAS_PYTHON_INT = 1 << 30 };  /* a flag of an array */
enum { LARGE = 1 << 30 };           /* a number from which on sums with indices are made of 64 bits */

static const char TOO_LARGE[] = "%S does not fit into the 32 bits that arrays of indices (np.intp) have here: use 64, as of .astype(int)";

PyObject *PyArray_DescrFromType(int number);

static int has_refused; /* since this was last 0 */
static long long refused;

int refuse_index(long long value, int is_unsigned) {
  has_refused = 1 + is_unsigned;
  refused = value;
  const PyGILState_STATE state = PyGILState_Ensure(); /* a loop has no thread state */
  PyObject *number = NULL;
  if (!PyErr_Occurred()) /* of the numbers that a loop makes before it fails none are told of */
    number = is_unsigned ? PyLong_FromUnsignedLongLong(value) : PyLong_FromLongLong(value);
  if (number != NULL) PyErr_Format(PyExc_OverflowError, TOO_LARGE, number);
  Py_XDECREF(number);
  PyGILState_Release(state);
  return -1;
}

/* What leaves as bytes has 64 bits: the array as it is, or one of 64 bits made of it; a new reference, NULL with an exception. */
PyObject *cloche_wide_indices(PyObject *array) {
  const int number = ((Array *)array)->type->number;
  if (number != LONG && number != ULONG) return Py_NewRef(array);
  return PyObject_CallMethod(array, "astype", "s", number == LONG ? "int64" : "uint64");
}

PyObject *cloche_indices_left(PyObject *result, PyObject *array) {
  Py_DECREF(array);
  return result;
}

/* The class of single numbers of 64 bits where `class` is that of single indices, otherwise NULL. */
PyTypeObject *cloche_wide_class(const PyTypeObject *class) {
  for (int number = LONG; number <= ULONG; ++number) {
    Descriptor *const narrow = (Descriptor *)PyArray_DescrFromType(number);
    const int is_this = narrow->type == class;
    Py_DECREF(narrow);
    if (!is_this) continue;
    Descriptor *const wide = (Descriptor *)PyArray_DescrFromType(number + LONGLONG - LONG);
    PyTypeObject *const found = wide->type;
    Py_DECREF(wide);
    return found;
  }
  return NULL;
}

/* The class of a type of arrays, which is never freed. */
static PyObject *class_of_type(int number) {
  static PyObject *classes[ULONGLONG + 1];
  if (classes[number] == NULL) {
    PyObject *const descriptor = PyArray_DescrFromType(number);
    classes[number] = Py_NewRef((PyObject *)Py_TYPE(descriptor));
    Py_DECREF(descriptor);
  }
  return classes[number];
}

static int is_large(const Array *array) {
  long long value;
  if (array == NULL || !(array->flags & WAS_PYTHON_INT) || array->type->number != LONGLONG) return 0;
  memcpy(&value, array->data, sizeof value);
  return value <= -LARGE || value >= LARGE;
}
static void widen(PyObject **class, int number) { Py_SETREF(*class, Py_NewRef(class_of_type(number))); }

static int is_comparison(const Ufunc *ufunc) {
  static const char *const names[] = {"equal", "not_equal", "less", "less_equal", "greater", "greater_equal"};
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i)
    if (strcmp(ufunc->name, names[i]) == 0) return 1;
  return 0;
}

/* numpy's number of the type that a class is of, WEAK of Python's numbers, or NONE of integers that are no smaller than those of 64 bits. */
enum { NONE = -1, WEAK = -2 };
static int number_of_class(const PyObject *class, const PyObject *weak) {
  if (class == weak) return WEAK;
  for (int number = 0; number <= ULONG; ++number)
    if (class == class_of_type(number)) return number;
  return NONE;
}

/* Before a ufunc looks for its loop by the classes of its operands, of which all inputs are changed or none. Indices beside a large number of
 * Python's are numbers of 64 bits, and so are unsigned ones, with which nobody counts what memory has. Who asks for indices gets them, but for
 * products of arrays. `weak` is the class of Python's numbers. */
void cloche_before_promotion(const Ufunc *ufunc, Array *const *operands, PyObject **signature, PyObject **classes, const PyObject *weak) {
  int is_asked_for = 0, are_indices = 0, are_unsigned = 1, is_one_unsigned = 0, is_one_large = 0;
  for (int k = 0; k < ufunc->operands; ++k) {
    if (signature[k] == NULL) continue;
    is_asked_for = 1;
    if (!ufunc->has_core || (signature[k] != class_of_type(LONG) && signature[k] != class_of_type(ULONG))) continue;
    const int wide = signature[k] == class_of_type(LONG) ? LONGLONG : ULONGLONG;
    widen(&signature[k], wide);
    if (classes[k] != NULL) widen(&classes[k], wide);
  }
  if (is_asked_for) return;
  for (int k = 0; k < ufunc->inputs; ++k) {
    if (classes[k] == NULL) return;
    are_indices |= classes[k] == class_of_type(LONG);
    is_one_unsigned |= classes[k] == class_of_type(ULONG);
  }
  if (!are_indices && !is_one_unsigned) return;
  for (int k = 0; k < ufunc->inputs; ++k) {
    const int number = number_of_class(classes[k], weak);
    if (number == NONE) return;
    are_unsigned &= number == WEAK || number == 0 || number % 2 == 0;
    is_one_large |= number == WEAK && operands != NULL && is_large(operands[k]);
  }
  if (is_one_unsigned ? !are_unsigned || is_comparison(ufunc) : !is_one_large) return;
  for (int k = 0; k < ufunc->inputs; ++k) widen(&classes[k], is_one_unsigned ? ULONGLONG : LONGLONG);
}

/* The type that a sum of products is computed with, by what is asked for, what it goes into, or what all operands have. */
Descriptor *cloche_type_of_sums(int count, Array *const *operands, Descriptor *type, const Array *into) {
  int number = type != NULL ? type->number : into != NULL ? into->type->number : count > 0 ? operands[0]->type->number : 0;
  for (int k = 0; type == NULL && into == NULL && k < count; ++k)
    if (operands[k]->type->number != number) number = 0;
  return number == LONG || number == ULONG ? (Descriptor *)PyArray_DescrFromType(number + LONGLONG - LONG) : type;
}

/* A result whose conversion failed at the end. */
PyObject *cloche_made_sums(PyObject *result) {
  if (result != NULL && PyErr_Occurred()) Py_CLEAR(result);
  return result;
}

/* One number of Python's has become an element, or has not: which one would be an integer of 64 bits. */
int cloche_index_set(int status, PyObject *value) {
  if (status >= 0 || !PyErr_ExceptionMatches(PyExc_OverflowError)) return status;
  PyObject *const error = PyErr_GetRaisedException(), *const whole = PyNumber_Long(value);
  int is_larger = 1;
  if (whole != NULL) PyLong_AsLongLongAndOverflow(whole, &is_larger);
  PyErr_Clear();
  if (is_larger) {
    PyErr_SetRaisedException(error);
  } else {
    PyErr_Format(PyExc_OverflowError, TOO_LARGE, whole);
    Py_DECREF(error);
  }
  Py_XDECREF(whole);
  return status;
}

/* `ufunc.at` is between these two: it calls what went wrong with a buffer a ValueError. */
void cloche_before_at(void) { has_refused = 0; }
PyObject *cloche_at(PyObject *result) {
  if (result != NULL || has_refused == 0 || !PyErr_ExceptionMatches(PyExc_ValueError)) return result;
  PyErr_Clear();
  refuse_index(refused, has_refused - 1);
  return NULL;
}

/* Indices seen as numbers of 64 bits would be half of them, and other ones. A new reference, NULL with an exception. */
PyObject *cloche_viewed(PyObject *view, const Array *array) {
  if (view == NULL || (array->type->number != LONG && array->type->number != ULONG)) return view;
  switch (((Array *)view)->type->number) {
    case LONGLONG: case ULONGLONG: case DOUBLE: case DATETIME: case TIMEDELTA: break;
    default: return view;
  }
  Py_DECREF(view);
  return PyErr_Format(PyExc_ValueError, "arrays of indices (np.intp) have 32 bits here, of which no view has 64: use .astype(int) before");
}

/* numpy.arange of indices, of which the first two are there. */
int cloche_long_fill(int *numbers, Py_ssize_t count, void *Py_UNUSED(array)) {
  const long long step = (long long)numbers[1] - numbers[0], last = numbers[0] + step * (count - 1);
  if (last < INT_MIN || last > INT_MAX) return refuse_index(last, 0);
  for (Py_ssize_t i = 2; i < count; ++i) numbers[i] = (int)(numbers[0] + step * i);
  return 0;
}

/* One number of a text. */
int LONGLONG_fromstr(const char *text, void *made, char **end, void *type);
int cloche_long_fromstr(const char *text, void *made, char **end, void *type) {
  long long value;
  const int status = LONGLONG_fromstr(text, &value, end, type);
  if (value < INT_MIN || value > INT_MAX) return refuse_index(value, 0);
  const int index = (int)value;
  memcpy(made, &index, sizeof index);
  return status;
}
