/* Arrays of indices have 32 bits here, and 64 where a program's other processes, files and friends run. What leaves as bytes has 64. */
#include "numpy.h"

enum { LONG = 7, ULONG = 8 };

/* The array as it is, or one of 64 bits made of it: a new reference, NULL with an exception. */
PyObject *cloche_wide_indices(PyObject *array) {
  const int number = ((Array *)array)->type->number;
  if (number != LONG && number != ULONG) return Py_NewRef(array);
  return PyObject_CallMethod(array, "astype", "s", number == LONG ? "int64" : "uint64");
}

PyObject *cloche_indices_left(PyObject *result, PyObject *array) {
  Py_DECREF(array);
  return result;
}
