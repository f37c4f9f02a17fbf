/* Arrays of indices, `long` in C, which have 32 bits here and 64 where a program's other processes, files and friends run. */
#ifndef CLOCHE_INDICES_H
#define CLOCHE_INDICES_H

#include "numpy.h"

enum { LONG = 7, ULONG = 8, LONGLONG = 9, ULONGLONG = 10 }; /* numpy's numbers of types */

/* Sets an exception: the value, of which numpy's loops make an index, has more than 32 bits. -1. */
int refuse_index(long long value, int is_unsigned);

/* The loop that converts integers or times to indices, and refuses those that do not fit; NULL: there is none (index_casts.c). */
Loop *index_cast(int from, int to);
/* What numpy converts with otherwise, which knows casting="same_value". */
void index_cast_otherwise(int from, int to, Loop *own);

#endif
