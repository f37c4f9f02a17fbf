#define SYSCALL_NO_TLS 1
#include "pthread_impl.h"
#include "libc.h"
#include "syscall.h"

// Thread-local variables are plain globals in a module without threads, so there is no image to copy and the thread
// is its descriptor alone.

volatile int __thread_list_lock;
unsigned long long __cloche_thread[(sizeof(struct pthread) + 7) / 8];

int __init_tp(void *p)
{
  pthread_t self = p;
  self->self = self;
  self->detach_state = DT_JOINABLE;
  self->tid = __syscall(SYS_set_tid_address, &__thread_list_lock);
  self->locale = &libc.global_locale;
  self->robust_list.head = &self->robust_list.head;
  self->next = self->prev = self;
  return 0;
}

void *__copy_tls(unsigned char *mem)
{
  mem += -(uintptr_t)mem & (_Alignof(struct pthread) - 1);
  return mem;
}

void __init_tls(size_t *aux)
{
  libc.tls_size = sizeof(struct pthread) + _Alignof(struct pthread);
  libc.tls_align = _Alignof(struct pthread);
  __init_tp(__cloche_thread);
}
