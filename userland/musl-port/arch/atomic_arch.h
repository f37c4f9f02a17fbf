// One thread: a plain read-modify-write is atomic, because signal handlers run only at system calls,
// function entries and loop heads.
#define a_cas a_cas
static inline int a_cas(volatile int *p, int t, int s)
{
  int old = *p;
  if (old == t) *p = s;
  return old;
}

#define a_swap a_swap
static inline int a_swap(volatile int *p, int v)
{
  int old = *p;
  *p = v;
  return old;
}

#define a_fetch_add a_fetch_add
static inline int a_fetch_add(volatile int *p, int v)
{
  int old = *p;
  *p = (int)((unsigned)old + (unsigned)v);
  return old;
}

#define a_barrier a_barrier
static inline void a_barrier()
{
  __asm__ __volatile__ ("" : : : "memory");
}

// Address 0 is ordinary memory here (the far end of the stack), so a store to it is no crash.
#define a_crash a_crash
static inline void a_crash()
{
  __builtin_trap();
}

#define a_ctz_32 a_ctz_32
static inline int a_ctz_32(uint32_t x)
{
  return __builtin_ctz(x);
}

#define a_clz_32 a_clz_32
static inline int a_clz_32(uint32_t x)
{
  return __builtin_clz(x);
}

#define a_ctz_64 a_ctz_64
static inline int a_ctz_64(uint64_t x)
{
  return __builtin_ctzll(x);
}

#define a_clz_64 a_clz_64
static inline int a_clz_64(uint64_t x)
{
  return __builtin_clzll(x);
}
