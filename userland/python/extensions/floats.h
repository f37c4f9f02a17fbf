/* Numbers as they lie in arrays, and what of them are no finite ones. */
#ifndef CLOCHE_FLOATS_H
#define CLOCHE_FLOATS_H

#include "numpy.h"

enum { NAN_CLASS = 1, INF_CLASS = 2, ZERO_CLASS = 4, ENDLESS = NAN_CLASS | INF_CLASS };

/* One operand of a loop. */
typedef struct {
  int number, size, parts; /* of a type: as numpy counts, bytes of a part, 0 parts: none that could be endless */
  char *at;
  Py_ssize_t step;
} Operand;

extern PyTypeObject *generic_type; /* of all single numbers of numpy; NULL before it is known */

Operand operand(int number, char *at, Py_ssize_t step);
/* What the element `i` is: ZERO_CLASS where all parts are. */
int class_of(const Operand *operand, Py_ssize_t i);
/* 0: no element is endless, for sure. */
int may_be_endless(const Operand *operand, Py_ssize_t count);
void set_flags(int flags);

extern int loop_has_raised; /* a loop has set an exception since this was last 0 (orders.c) */

/* What the flags of a gufunc would have been whose results are there (products.c). */
int judged_product(const Context *context, char *const *data, const Py_ssize_t *dimensions, const Py_ssize_t *steps);
int judged_whole(const Context *context, char *const *data, const Py_ssize_t *dimensions, const Py_ssize_t *steps);

#endif
