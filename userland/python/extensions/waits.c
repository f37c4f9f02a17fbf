/* The module _waits: functions of Python that are called before C code reads, writes or opens where that may have to wait, so that other
 * threads run meanwhile (userland/python/lib/_cloche/threads/scheduler.py). extensions_patch.py has the interpreter call what is here. */
#include <Python.h>

enum { REGULAR_FILE = 4, NONBLOCK = 4, PIECE = 4096, AS_USUAL = -2, MOST_ARGUMENTS = 9 };

/* WASI's fdstat. */
typedef struct {
  unsigned char type;
  unsigned short flags;
  unsigned long long rights[2];
} Status;

int __wasi_fd_fdstat_get(int fd, Status *status);
Py_ssize_t _Py_write(int fd, const void *bytes, size_t size);
PyObject *_io_open(PyObject *module, PyObject *const *arguments, Py_ssize_t count, PyObject *names);
const char *sqlite3_value_text(void *value);
void _Py_InitializeRecursionLimits(PyThreadState *thread);

static PyObject *before_read, *before_write, *before_lock, *before_open, *before_line, *raise_later, *before_attach;
static PyThreadState *reader; /* who reads a line of the terminal */
static int is_within;         /* the next call of _Py_write or _io_open is one of ours */

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

static int is_own(void) {
  const int own = is_within;
  is_within = 0;
  return own;
}

/* An exception that is set is raised as soon as this call has told what it did. 0: it is not. */
static int is_raised_later(void) {
  if (raise_later == NULL) return 0;
  PyObject *error = PyErr_GetRaisedException();
  PyObject *signal = PyObject_CallOneArg(raise_later, error); /* whose handler does it */
  if (signal == NULL) {
    Py_DECREF(error);
    return 0;
  }
  PyErr_SetInterruptEx(PyLong_AsLong(signal));
  Py_DECREF(signal);
  Py_DECREF(error);
  return 1;
}

/* What _Py_write does first: all in pieces for which there is room while there are other threads, or AS_USUAL. */
Py_ssize_t cloche_write(int fd, const char *bytes, size_t size) {
  if (is_own() || before_write == NULL || !may_wait(fd)) return AS_USUAL;
  size_t done = 0;
  do {
    if (before_write != NULL && called(before_write, fd)) {
      if (done > 0 && is_raised_later()) break;
      return -1;
    }
    const size_t left = size - done;
    is_within = 1;
    const Py_ssize_t count = _Py_write(fd, bytes + done, before_write == NULL || left < PIECE ? left : PIECE);
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

/* What _enter_buffered_busy does first: waits until no other thread is the owner. Not 0: an exception is set. */
int cloche_before_lock(const volatile unsigned long *owner) {
  while (before_lock != NULL && *owner != 0 && *owner != cloche_thread()) {
    PyObject *result = PyObject_CallNoArgs(before_lock);
    if (result == NULL) return 1;
    Py_DECREF(result);
  }
  return 0;
}

/* What _io_open does first: the file, NULL for as usual, or this with an exception. */
#define FAILED ((PyObject *)1)

/* A named pipe is opened by a function of Python's, `opener`. */
PyObject *cloche_open(PyObject *module, PyObject *const *arguments, Py_ssize_t count, PyObject *names) {
  static PyObject *name;
  if (is_own() || before_open == NULL || count == 0) return NULL;
  const Py_ssize_t named = names == NULL ? 0 : PyTuple_GET_SIZE(names);
  if (count + named >= MOST_ARGUMENTS || (name == NULL && (name = PyUnicode_InternFromString("opener")) == NULL)) return NULL;
  PyObject *file = FAILED, *more = NULL;
  PyObject *opener = PyObject_CallOneArg(before_open, arguments[0]);
  if (opener == NULL) return FAILED;
  int is_usual = opener == Py_None || count + named == MOST_ARGUMENTS - 1;
  for (Py_ssize_t i = 0; i < named; ++i) is_usual |= PyUnicode_Compare(PyTuple_GET_ITEM(names, i), name) == 0;
  if (is_usual) {
    file = NULL;
  } else if ((more = PyTuple_New(named + 1)) != NULL) {
    PyObject *all[MOST_ARGUMENTS];
    memcpy(all, arguments, (count + named) * sizeof *all);
    all[count + named] = opener;
    for (Py_ssize_t i = 0; i < named; ++i) PyTuple_SET_ITEM(more, i, Py_NewRef(PyTuple_GET_ITEM(names, i)));
    PyTuple_SET_ITEM(more, named, Py_NewRef(name));
    is_within = 1;
    if ((file = _io_open(module, all, count, more)) == NULL) file = FAILED;
  }
  Py_XDECREF(more);
  Py_DECREF(opener);
  return file;
}

/* What PyOS_Readline does first, which lets go of its thread state then. Not 0: an exception is set. */
int cloche_reader(void) {
  if (cloche_before_lock((const volatile unsigned long *)&reader)) return 1;
  reader = PyThreadState_Get();
  return 0;
}

/* What PyOS_StdioReadline does first: shows the prompt and waits for a line. 0: as usual. Less: an exception is set. More: it is shown. */
int cloche_before_line(const char *prompt) {
  PyThreadState *own = reader;
  if (before_line == NULL) {
    reader = NULL;
    return 0;
  }
  PyEval_RestoreThread(own);
  PyObject *shown = PyBytes_FromString(prompt == NULL ? "" : prompt);
  PyObject *result = shown == NULL ? NULL : PyObject_CallOneArg(before_line, shown);
  Py_XDECREF(shown);
  Py_XDECREF(result);
  PyEval_SaveThread();
  reader = NULL;
  return result == NULL ? -1 : 1;
}

/* What SQLite does first at ATTACH. */
void cloche_before_attach(void *Py_UNUSED(context), int Py_UNUSED(count), void **values) {
  const char *name = before_attach == NULL ? NULL : sqlite3_value_text(values[0]);
  if (name == NULL) return;
  const PyGILState_STATE state = PyGILState_Ensure();
  PyObject *text = PyUnicode_DecodeFSDefault(name);
  PyObject *result = text == NULL ? NULL : PyObject_CallOneArg(before_attach, text);
  if (result == NULL) PyErr_Clear(); /* SQLite says what is wrong */
  Py_XDECREF(text);
  Py_XDECREF(result);
  PyGILState_Release(state);
}

static void keep(PyObject **place, PyObject *function) { Py_XSETREF(*place, function == Py_None ? NULL : Py_NewRef(function)); }

/* set(before_read, before_write, before_lock, before_open, before_line, raise_later): None for nothing. */
static PyObject *set(PyObject *Py_UNUSED(module), PyObject *args) {
  PyObject *read, *write, *lock, *open, *line, *later;
  if (!PyArg_ParseTuple(args, "OOOOOO", &read, &write, &lock, &open, &line, &later)) return NULL;
  keep(&before_read, read);
  keep(&before_write, write);
  keep(&before_lock, lock);
  keep(&before_open, open);
  keep(&before_line, line);
  keep(&raise_later, later);
  Py_RETURN_NONE;
}

/* set_attach(before_attach) */
static PyObject *set_attach(PyObject *Py_UNUSED(module), PyObject *function) {
  keep(&before_attach, function);
  Py_RETURN_NONE;
}

/* measure_stack(): the calling thread's recursion is bounded as threads_patch.py says from now on. The interpreter was started, before it was
 * patched, where the C library knew of 128 KiB. */
static PyObject *measure_stack(PyObject *module, PyObject *ignored) {
  _Py_InitializeRecursionLimits(PyThreadState_Get());
  Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"measure_stack", measure_stack, METH_NOARGS, NULL},
    {"set", set, METH_VARARGS, NULL},
    {"set_attach", set_attach, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {{Py_mod_multiple_interpreters, Py_MOD_PER_INTERPRETER_GIL_SUPPORTED}, {0, NULL}};

static PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, .m_name = "_waits", .m_size = 0, .m_methods = methods, .m_slots = slots,
};

PyMODINIT_FUNC PyInit__waits(void) { return PyModuleDef_Init(&definition); }
