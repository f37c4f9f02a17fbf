/* What extension modules ask of the interpreter and it has not under that name: functions that are inlined wherever they are used, and
 * data, which comes by names that userland/python/interpreter_data.py knows. */
#include <Python.h>
#include <time.h>

extern int cloche_errno;

int *__errno_location(void) { return &cloche_errno; }

/* Zstandard asks when it last told how far the making of a dictionary is, which it tells nobody here. */
clock_t clock(void) { return 0; }

#define EXCEPTION(name)           \
  extern PyTypeObject _PyExc_##name; \
  PyObject *PyExc_##name = (PyObject *)&_PyExc_##name;

EXCEPTION(ArithmeticError)
EXCEPTION(AttributeError)
EXCEPTION(BufferError)
EXCEPTION(DeprecationWarning)
EXCEPTION(EOFError)
EXCEPTION(ImportError)
EXCEPTION(IndexError)
EXCEPTION(KeyError)
EXCEPTION(MemoryError)
EXCEPTION(NotImplementedError)
EXCEPTION(OSError)
EXCEPTION(OverflowError)
EXCEPTION(RuntimeError)
EXCEPTION(RuntimeWarning)
EXCEPTION(StopIteration)
EXCEPTION(TypeError)
EXCEPTION(ValueError)
EXCEPTION(ZeroDivisionError)

const unsigned char _Py_ascii_whitespace[128] = {
    ['\t'] = 1, ['\n'] = 1, ['\v'] = 1, ['\f'] = 1, ['\r'] = 1, [0x1c] = 1, [0x1d] = 1, [0x1e] = 1, [0x1f] = 1, [' '] = 1,
};

PyThreadState *_PyThreadState_GetCurrent(void) { return PyThreadState_Get(); }

PyObject *_PyImport_GetModuleAttrString(const char *module_name, const char *name) {
  PyObject *module = PyImport_ImportModule(module_name);
  if (module == NULL) return NULL;
  PyObject *value = PyObject_GetAttrString(module, name);
  Py_DECREF(module);
  return value;
}

/* The module of one of these types, or of one that it is derived from. */
PyObject *_PyType_GetModuleByDef2(PyTypeObject *left, PyTypeObject *right, PyModuleDef *def) {
  PyObject *module = PyType_GetModuleByDef(left, def);
  if (module != NULL) return module;
  PyErr_Clear();
  return PyType_GetModuleByDef(right, def);
}

PyObject *_PyType_GetModuleByDef3(PyTypeObject *left, PyTypeObject *right, PyTypeObject *third, PyModuleDef *def) {
  PyObject *module = _PyType_GetModuleByDef2(left, right, def);
  if (module != NULL || third == NULL) return module;
  PyErr_Clear();
  return PyType_GetModuleByDef(third, def);
}

typedef struct PyLongWriter PyLongWriter;
PyLongWriter *PyLongWriter_Create(int negative, Py_ssize_t ndigits, void **digits);
PyObject *PyLongWriter_Finish(PyLongWriter *writer);

PyLongObject *_PyLong_FromDigits(int negative, Py_ssize_t digit_count, digit *digits) {
  if (digit_count == 0) return (PyLongObject *)PyLong_FromLong(0);
  void *room;
  PyLongWriter *writer = PyLongWriter_Create(negative, digit_count, &room);
  if (writer == NULL) return NULL;
  memcpy(room, digits, digit_count * sizeof(digit));
  return (PyLongObject *)PyLongWriter_Finish(writer);
}

/* The lower 64 bits of a number, or of what stands for one. */
unsigned long long PyLong_AsUnsignedLongLongMask(PyObject *value) {
  unsigned long long bits = 0;
  const int flags = Py_ASNATIVEBYTES_NATIVE_ENDIAN | Py_ASNATIVEBYTES_ALLOW_INDEX;
  if (PyLong_AsNativeBytes(value, &bits, sizeof(bits), flags) < 0) return (unsigned long long)-1;
  return bits;
}
