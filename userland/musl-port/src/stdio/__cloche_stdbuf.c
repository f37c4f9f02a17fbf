#include <string.h>
#include <sys/ioctl.h>
#include "stdio_impl.h"
#include "cloche_kernel.h"

// The buffers of the standard streams at the start, also as GNU's stdbuf asks of the programs that it starts: _STDBUF_I,
// _STDBUF_O and _STDBUF_E are L for lines, else the size of the buffer, 0 for none. There a preloaded library reads them; here
// every program does. Streams that a program does not use are not linked in. A buffer does not grow: nobody can tell.

extern FILE *volatile __stdin_used __attribute__((__weak__));
extern FILE *volatile __stdout_used __attribute__((__weak__));
extern FILE *volatile __stderr_used __attribute__((__weak__));

static void set_buffer(FILE *volatile *stream, const char *how)
{
  FILE *f = stream ? *stream : 0;
  if (!f) return;
  f->flags |= F_SVB;
  f->lbf = *how == 'L' ? '\n' : EOF;
  if (*how == 'L') return;
  size_t size = 0;
  while (*how >= '0' && *how <= '9' && size < BUFSIZ) size = 10 * size + (size_t)(*how++ - '0');
  if (size < f->buf_size) f->buf_size = size;
}

// A stdout that is no terminal is known as such before the first line is written, not after it: that line waits in the
// buffer with the others, as it does with GNU's C library, and an error in writing it is found at the end.
static void look_for_terminal(FILE *f)
{
  struct winsize size;
  if (f && __syscall(SYS_ioctl, f->fd, TIOCGWINSZ, &size)) f->lbf = EOF;
}

void __cloche_stdbuf(char **envp)
{
  static const char prefix[] = "_STDBUF_";
  if (&__stdout_used) look_for_terminal(__stdout_used);
  for (; *envp; envp++) {
    const char *name = *envp;
    if (*name != '_' || strncmp(name, prefix, sizeof prefix - 1) || !name[8] || name[9] != '=') continue;
    if (name[8] == 'I') set_buffer(&__stdin_used, name + 10);
    if (name[8] == 'O') set_buffer(&__stdout_used, name + 10);
    if (name[8] == 'E') set_buffer(&__stderr_used, name + 10);
  }
}
