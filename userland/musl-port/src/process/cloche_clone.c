#include <cloche.h>
#include "cloche_kernel.h"
#include "syscall.h"

// A file of its own: only programs that clone import linux.clone.
int cloche_clone(int (*fn)(void *), void *arg)
{
  return __syscall_ret(__linux_clone(fn, arg, 0));
}
