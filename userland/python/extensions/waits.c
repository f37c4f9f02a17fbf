/* The module _waits: functions of Python that are called before C code reads or writes where that may have to wait, so that other threads
 * run meanwhile (userland/python/lib/_cloche/threads/scheduler.py). extensions_patch.py has the interpreter call what is here. */
#include <Python.h>

enum { REGULAR_FILE = 4, NONBLOCK = 4, PIECE = 4096, AS_USUAL = -2 };

/* WASI's fdstat. */
typedef struct {
  unsigned char type;
  unsigned short flags;
  unsigned long long rights[2];
} Status;

int __wasi_fd_fdstat_get(int fd, Status *status);
Py_ssize_t _Py_write(int fd, const void *bytes, size_t size);

static PyObject *before_read, *before_write, *before_lock;
static int is_writing;

static int may_wait(int fd) {
  Status status;
  return __wasi_fd_fdstat_get(fd, &status) == 0 && status.type != REGULAR_FILE && !(status.flags & NONBLOCK);
}

/* Not 0: an exception is set. */
static int called(PyObject *function, int fd) {
  PyObject *number = PyLong_FromLong(fd);
  PyObject *result = number != NULL ? PyObject_CallOneArg(function, number) : NULL;
  Py_XDECREF(number);
  Py_XDECREF(result);
  if (result == NULL) errno = 0;
  return result == NULL;
}

/* What _Py_read does first. Not 0: an exception is set. */
int cloche_before_read(int fd) { return before_read != NULL && may_wait(fd) && called(before_read, fd); }

/* What _Py_write does first: all in pieces for which there is room, or AS_USUAL. */
Py_ssize_t cloche_write(int fd, const char *bytes, size_t size) {
  if (before_write == NULL || is_writing || !may_wait(fd)) return AS_USUAL;
  size_t done = 0;
  do {
    if (called(before_write, fd)) return -1;
    const size_t left = size - done;
    is_writing = 1;
    const Py_ssize_t count = _Py_write(fd, bytes + done, left < PIECE ? left : PIECE);
    is_writing = 0;
    if (count < 0) {
      if (done == 0) return -1;
      PyErr_Clear(); /* the next one tells */
      break;
    }
    done += count;
    if (count == 0) break;
  } while (done < size);
  return done;
}

/* What a buffered file knows a thread by. */
unsigned long cloche_thread(void) { return (unsigned long)PyThreadState_Get(); }

/* What _enter_buffered_busy does first: waits until no other thread has the file. Not 0: an exception is set. */
int cloche_before_lock(volatile unsigned long *owner) {
  while (before_lock != NULL && *owner != 0 && *owner != cloche_thread()) {
    PyObject *result = PyObject_CallNoArgs(before_lock);
    if (result == NULL) return 1;
    Py_DECREF(result);
  }
  return 0;
}

static void keep(PyObject **place, PyObject *function) { Py_XSETREF(*place, function == Py_None ? NULL : Py_NewRef(function)); }

/* set(before_read, before_write, before_lock): None for nothing. */
static PyObject *set(PyObject *Py_UNUSED(module), PyObject *args) {
  PyObject *read, *write, *lock;
  if (!PyArg_ParseTuple(args, "OOO", &read, &write, &lock)) return NULL;
  keep(&before_read, read);
  keep(&before_write, write);
  keep(&before_lock, lock);
  Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"set", set, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {{Py_mod_multiple_interpreters, Py_MOD_PER_INTERPRETER_GIL_SUPPORTED}, {0, NULL}};

static PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, .m_name = "_waits", .m_size = 0, .m_methods = methods, .m_slots = slots,
};

PyMODINIT_FUNC PyInit__waits(void) { return PyModuleDef_Init(&definition); }
