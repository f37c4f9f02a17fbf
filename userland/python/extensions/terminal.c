/* What ncurses asks of the system: terminals, signals, waits. The first are Linux calls of the kernel, by the interpreter's one import of
 * its own (src/python/host_door.h); for the others it goes by Python (_cloche/sockets/curses_host.py), so that threads change and the
 * handlers of signals run while it waits. An exception that comes of that is left set, and the call fails. */
#include <Python.h>
#include <fcntl.h>
#include <linux/stat.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/ioctl.h>
#include <sys/sysmacros.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

enum { CALL_IOCTL = 29, CALL_FACCESSAT = 48, CALL_EXIT_GROUP = 94, CALL_KILL = 129, CALL_SIGPROCMASK = 135, CALL_GETPGID = 155,
       CALL_GETPID = 172, CALL_STATX = 291, CALL_PPOLL = 414 };
enum { WASI_ACCES = 2, WASI_AGAIN = 6, WASI_BADF = 8, WASI_INTR = 27, WASI_INVAL = 28, WASI_IO = 29, WASI_NOENT = 44, WASI_NOTTY = 59,
       WASI_PERM = 63, WASI_SRCH = 71 };

int host_door_call(const void *request, size_t length, void *answer, void *answer_length);
extern int cloche_errno;

static int failed(int number) {
  cloche_errno = number;
  return -1;
}

static int of_linux(int64_t number) {
  switch (number) {
    case 1: return WASI_PERM;
    case 2: return WASI_NOENT;
    case 3: return WASI_SRCH;
    case 4: return WASI_INTR;
    case 9: return WASI_BADF;
    case 11: return WASI_AGAIN;
    case 13: return WASI_ACCES;
    case 22: return WASI_INVAL;
    case 25: return WASI_NOTTY;
    default: return WASI_IO;
  }
}

struct frame {
  char magic[4];
  uint32_t number, marks, words[6];
};

/* Arguments are numbers and addresses; a negative result sets errno. */
static int call(uint32_t number, uint32_t a, uint32_t b, uint32_t c, uint32_t d, uint32_t e) {
  struct frame frame = {"sys0", number, 0, {a, b, c, d, e, 0}};
  uint32_t answer = 0, length = 0;
  if (host_door_call(&frame, sizeof frame, &answer, &length) != 0) return failed(WASI_IO);
  int64_t result;
  memcpy(&result, &frame, sizeof result);
  return result < 0 ? failed(of_linux(-result)) : (int)result;
}

#define WORD(address) ((uint32_t)(uintptr_t)(address))

/* --- terminals ------------------------------------------------------------------------------------------------ */

int cloche_ioctl(int fd, int request, void *argument) { return call(CALL_IOCTL, fd, request, WORD(argument), 0, 0); }

int isatty(int fd) {
  struct winsize size;
  return cloche_ioctl(fd, TIOCGWINSZ, &size) == 0;
}

int tcgetattr(int fd, struct termios *out) { return cloche_ioctl(fd, TCGETS, out); }
int tcsetattr(int fd, int when, const struct termios *in) { return cloche_ioctl(fd, TCSETS + when, (void *)in); }
int tcflush(int fd, int queue) { return call(CALL_IOCTL, fd, TCFLSH, queue, 0, 0); }

pid_t tcgetpgrp(int fd) {
  int group;
  return cloche_ioctl(fd, TIOCGPGRP, &group) < 0 ? -1 : group;
}

pid_t cloche_getpid(void) { return call(CALL_GETPID, 0, 0, 0, 0, 0); }

/* --- files ---------------------------------------------------------------------------------------------------- */

int cloche_access(const char *path, int mode) { return call(CALL_FACCESSAT, AT_FDCWD, WORD(path), mode, 0, 0); }

int cloche_stat(const char *path, struct stat *out) {
  struct statx found;
  if (call(CALL_STATX, AT_FDCWD, WORD(path), 0, STATX_BASIC_STATS, WORD(&found)) < 0) return -1;
  memset(out, 0, sizeof *out);
  out->st_mode = found.stx_mode;
  out->st_size = found.stx_size;
  out->st_ino = found.stx_ino;
  out->st_dev = makedev(found.stx_dev_major, found.stx_dev_minor);
  out->st_mtim.tv_sec = found.stx_mtime.tv_sec;
  return 0;
}

static int stream(FILE *file) { return (uintptr_t)file >= 1 && (uintptr_t)file <= 3 ? (int)(uintptr_t)file - 1 : -1; }

static int put(int fd, const char *text, size_t length) {
  while (length > 0) {
    ssize_t written = write(fd, text, length);
    if (written <= 0) return EOF;
    text += written;
    length -= written;
  }
  return 0;
}

int cloche_fileno(FILE *file) { return stream(file) >= 0 ? stream(file) : fileno(file); }

static int print(FILE *file, const char *text, size_t length) {
  if (stream(file) >= 0) return put(stream(file), text, length);
  return fwrite(text, 1, length, file) == length ? 0 : EOF;
}

#undef fprintf
#undef fputs
#undef fputc
#undef fflush
int fflush(FILE *);

int cloche_fprintf(FILE *file, const char *format, ...) {
  char text[4096];
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  if (length < 0) return -1;
  if ((size_t)length >= sizeof text) length = sizeof text - 1;
  return print(file, text, length) == 0 ? length : -1;
}

int cloche_fputs(const char *text, FILE *file) { return print(file, text, strlen(text)); }

int cloche_fputc(int byte, FILE *file) {
  char text = (char)byte;
  return print(file, &text, 1) == 0 ? (unsigned char)byte : EOF;
}

int cloche_putchar(int byte) { return cloche_fputc(byte, (FILE *)2); }
int cloche_fflush(FILE *file) { return file == NULL || stream(file) >= 0 ? 0 : fflush(file); }

FILE *cloche_tmpfile(void) {
  for (int i = 0; i < 100; ++i) {
    char name[64];
    static unsigned count;
    snprintf(name, sizeof name, "/tmp/curses-%d-%u-%llx", cloche_getpid(), ++count, (long long)time(NULL));
    FILE *file = fopen(name, "wx+");
    if (file == NULL) continue;
    unlink(name);
    return file;
  }
  return NULL;
}

/* --- processes and signals ------------------------------------------------------------------------------------- */

pid_t getpgrp(void) { return call(CALL_GETPGID, 0, 0, 0, 0, 0); }
int kill(pid_t pid, int number) { return call(CALL_KILL, pid, number, 0, 0, 0); }

_Noreturn void _exit(int status) {
  for (;;) call(CALL_EXIT_GROUP, status, 0, 0, 0, 0);
}

int sigemptyset(sigset_t *set) {
  memset(set, 0, sizeof *set);
  return 0;
}

int sigaddset(sigset_t *set, int number) {
  set->__bits[(number - 1) / (8 * sizeof(long))] |= 1UL << (number - 1) % (8 * sizeof(long));
  return 0;
}

int sigismember(const sigset_t *set, int number) {
  return set->__bits[(number - 1) / (8 * sizeof(long))] >> (number - 1) % (8 * sizeof(long)) & 1;
}

int sigprocmask(int how, const sigset_t *restrict set, sigset_t *restrict before) {
  return call(CALL_SIGPROCMASK, how, WORD(set), WORD(before), 8, 0);
}

static PyObject *host(void) {
  static PyObject *module;
  if (module == NULL) module = PyImport_ImportModule("_cloche.sockets.curses_host");
  return module;
}

static PyObject *run_handler(PyObject *self, PyObject *arguments) {
  unsigned long address;
  int number;
  (void)self;
  if (!PyArg_ParseTuple(arguments, "ki", &address, &number)) return NULL;
  ((void (*)(int))(uintptr_t)address)(number);
  if (PyErr_Occurred()) return NULL;
  return Py_NewRef(Py_None);
}

static PyMethodDef run_handler_def = {"run_handler", run_handler, METH_VARARGS, NULL};

int sigaction(int number, const struct sigaction *restrict action, struct sigaction *restrict before) {
  if (PyErr_Occurred() || host() == NULL) return failed(WASI_IO);
  PyObject *run = PyCFunction_NewEx(&run_handler_def, NULL, NULL);
  if (run == NULL) return failed(WASI_IO);
  PyObject *old = action == NULL ? PyObject_CallMethod(host(), "action", "iOO", number, Py_None, run)
                                 : PyObject_CallMethod(host(), "action", "ikO", number, (unsigned long)(uintptr_t)action->sa_handler, run);
  Py_DECREF(run);
  if (old == NULL) return failed(WASI_IO);
  long address = PyLong_AsLong(old);
  Py_DECREF(old);
  if (address < 0) return failed(WASI_INVAL);
  if (before != NULL) {
    memset(before, 0, sizeof *before);
    before->sa_handler = (void (*)(int))(uintptr_t)address;
  }
  return 0;
}

/* --- waits ----------------------------------------------------------------------------------------------------- */

/* 1 and the events that came, 0 where the time was over, -1 where a signal's handler has run. */
static int wait_by_python(struct pollfd *entries, nfds_t count, int milliseconds) {
  if (host() == NULL) return failed(WASI_IO);
  PyObject *wanted = PyDict_New();
  if (wanted == NULL) return failed(WASI_IO);
  for (nfds_t i = 0; i < count; ++i) {
    PyObject *fd = PyLong_FromLong(entries[i].fd), *events = PyLong_FromLong(entries[i].events);
    int status = fd == NULL || events == NULL ? -1 : PyDict_SetItem(wanted, fd, events);
    Py_XDECREF(fd);
    Py_XDECREF(events);
    if (status < 0) {
      Py_DECREF(wanted);
      return failed(WASI_IO);
    }
  }
  PyObject *found = PyObject_CallMethod(host(), "wait", "Oi", wanted, milliseconds);
  Py_DECREF(wanted);
  if (found == NULL) return failed(WASI_IO);
  if (found == Py_None) {
    Py_DECREF(found);
    return failed(WASI_INTR);
  }
  int ready = 0;
  for (nfds_t i = 0; i < count; ++i) {
    PyObject *fd = PyLong_FromLong(entries[i].fd);
    PyObject *events = fd == NULL ? NULL : PyDict_GetItemWithError(found, fd);
    Py_XDECREF(fd);
    entries[i].revents = events == NULL ? 0 : (short)PyLong_AsLong(events);
    ready += entries[i].revents != 0;
  }
  Py_DECREF(found);
  return PyErr_Occurred() ? failed(WASI_IO) : ready;
}

int cloche_poll(struct pollfd *entries, nfds_t count, int milliseconds) {
  if (PyErr_Occurred()) return failed(WASI_IO);
  if (milliseconds != 0) return wait_by_python(entries, count, milliseconds);
  struct timespec none = {0, 0};
  return call(CALL_PPOLL, WORD(entries), count, WORD(&none), 0, 8);
}

ssize_t cloche_read(int fd, void *room, size_t size) {
  struct pollfd entry = {fd, POLLIN, 0};
  return cloche_poll(&entry, 1, -1) < 0 ? -1 : read(fd, room, size);
}

/* --- characters: the locale is C.UTF-8 ------------------------------------------------------------------------- */

char *nl_langinfo(int item) {
  (void)item;
  return "UTF-8";
}

int mblen(const char *text, size_t length) { return mbtowc(NULL, text, length); }
wint_t btowc(int byte) { return byte >= 0 && byte < 128 ? (wint_t)byte : WEOF; }
int wctob(wint_t character) { return character < 128 ? (int)character : EOF; }
