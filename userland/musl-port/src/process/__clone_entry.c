#include <stdlib.h>
#include "cloche_kernel.h"
#include "libc.h"
#include "pthread_impl.h"
#include "syscall.h"

// Where a clone starts, on a copy of its parent's memory: what libc knows of the process is the parent's until here.
void __clone_entry(int (*fn)(void *), void *arg)
{
  pthread_t self = __pthread_self();
  __cloche_vforking = 0;
  self->tid = __syscall(SYS_set_tid_address, &__thread_list_lock);
  self->robust_list.off = 0;
  self->robust_list.pending = 0;
  _Exit(fn(arg));
}
