/* The beginnings of numpy's structures, and what is called of it. */
#ifndef CLOCHE_NUMPY_H
#define CLOCHE_NUMPY_H

#include <Python.h>

enum { HALF = 23, FLOAT = 11, DOUBLE = 12, QUAD = 13, CFLOAT = 14, CDOUBLE = 15, CQUAD = 16, DATETIME = 21, TIMEDELTA = 22 }; /* its numbers of types */
enum { DIVIDE = 1, OVERFLOWS = 2, INVALID = 8 }; /* and of flags */

typedef struct {
  PyObject_HEAD
  int inputs, outputs, operands, identity;
  void *functions, *data;
  int types, flags;
  const char *name, *characters, *text;
  void *unused[3];
  int has_core, core_sizes;
  int *core_dimensions, *core_size_of, *core_first; /* of each operand: how many; which sizes, from its first one on */
} Ufunc;

typedef struct {
  PyObject_HEAD
  PyTypeObject *type;
  char kind, character, order, unused;
  int number;
} Descriptor;

typedef struct {
  PyObject_HEAD
  char *data;
  int dimensions;
  Py_ssize_t *shape, *steps;
  PyObject *base;
  Descriptor *type;
  int flags;
} Array;

/* How a function of numpy computes for operands of some types. */
typedef struct {
  void *caller, *method; /* the ufunc, where there is one */
  Descriptor *const *types;
  void *unused;
  unsigned long long flags;
} Context;
typedef int Loop(const Context *context, char *const *data, const Py_ssize_t *dimensions, const Py_ssize_t *steps, void *auxiliary);

typedef struct {
  PyObject_HEAD
  char *name;
  int inputs, outputs, casting, flags;
  void *unused[3], *loop_for, *first_of_reduction; /* what chooses a loop */
  Loop *strided, *contiguous, *unaligned_strided, *unaligned_contiguous;
} Method;

typedef struct {
  PyObject_HEAD
  void *types;
  Method *method;
} BoundMethod;

/* What a loop of the old kind is called with. */
typedef struct {
  void *functions[4];
  void (*loop)(char **, const Py_ssize_t *, const Py_ssize_t *, void *);
  void *data;
  int may_raise;
} OldLoop;

void npy_set_floatstatus_divbyzero(void);
void npy_set_floatstatus_overflow(void);
void npy_set_floatstatus_invalid(void);
float npy_half_to_float(unsigned short half);
int PyUFunc_GiveFloatingpointErrors(const char *name, int flags);

#endif
