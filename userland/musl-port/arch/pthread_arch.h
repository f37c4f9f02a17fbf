// The only thread's descriptor is a static object, so no register or global has to hold it.
extern __attribute__((__visibility__("hidden"))) unsigned long long __cloche_thread[];

static inline uintptr_t __get_tp()
{
  return (uintptr_t)__cloche_thread;
}

#define MC_PC __gregs[0]
