/* Comes before each source file: where the interpreter's C library is another one than the headers', as far as these files use it. */
#ifndef CLOCHE_INTERPRETER_H
#define CLOCHE_INTERPRETER_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* WASI's numbers. */
#undef EINVAL
#define EINVAL 28
#undef ENOMEM
#define ENOMEM 48
#undef ERANGE
#define ERANGE 68

/* Only what is a mistake of its own writes to it, and aborts then. */
#undef stderr
#define stderr ((FILE *)0)
#define fprintf(...) ((void)0)
#define fputs(...) ((void)0)
#define fputc(...) ((void)0)
#define fflush(...) ((void)0)

#endif
