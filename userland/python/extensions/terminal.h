/* Comes before each source file of curses: what it calls of the system is terminal.c's. The interpreter's C library has neither terminals
 * nor signals, and waits there would keep other threads and the handlers of signals from running. */
#ifndef CLOCHE_TERMINAL_H
#define CLOCHE_TERMINAL_H

#include "interpreter.h"

#undef fprintf
#undef fputs
#undef fputc
#undef fflush
#undef stdin
#undef stdout
#undef stderr

#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <termios.h>
#include <unistd.h>
#include <wchar.h>

/* WASI's number. */
#undef EINTR
#define EINTR 27

/* The three streams by their descriptors; every other FILE is the C library's own. */
#define stdin ((FILE *)1)
#define stdout ((FILE *)2)
#define stderr ((FILE *)3)

int cloche_fileno(FILE *file);
int cloche_fprintf(FILE *file, const char *format, ...);
int cloche_fputs(const char *text, FILE *file);
int cloche_fputc(int byte, FILE *file);
int cloche_putchar(int byte);
int cloche_fflush(FILE *file);
FILE *cloche_tmpfile(void);
int cloche_poll(struct pollfd *entries, nfds_t count, int milliseconds);
ssize_t cloche_read(int fd, void *room, size_t size);
int cloche_access(const char *path, int mode);
int cloche_stat(const char *path, struct stat *out);

#define fileno cloche_fileno
#define fprintf cloche_fprintf
#define fputs cloche_fputs
#define fputc cloche_fputc
#undef putc
#define putc cloche_fputc
#undef putchar
#define putchar cloche_putchar
#define fflush cloche_fflush
#define tmpfile cloche_tmpfile
#define poll cloche_poll
#define read cloche_read
#define access cloche_access
#define stat(path, out) cloche_stat(path, out)

/* The rest has names that the interpreter's C library lacks, but for these. */
#define ioctl cloche_ioctl
#define getpid cloche_getpid
int cloche_ioctl(int fd, int request, void *argument);
pid_t cloche_getpid(void);

#endif
