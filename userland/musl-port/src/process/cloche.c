#include <cloche.h>
#include <errno.h>
#include "cloche_kernel.h"
#include "syscall.h"

int cloche_startup_size(void)
{
  return __syscall_ret(__cloche_syscall(CLOCHE_STARTUP_SIZE, 0, 0, 0, 0, 0, 0));
}

int cloche_startup_copy(void *buf, unsigned long size)
{
  return __syscall_ret(__cloche_syscall(CLOCHE_STARTUP_COPY, (long)buf, (long)size, 0, 0, 0, 0));
}

int cloche_boot_point(void)
{
  return __cloche_syscall(CLOCHE_BOOT_POINT, 0, 0, 0, 0, 0, 0) == 1;
}
