/* The end of unistd.h: vfork returns twice in the caller's own frame, so it is a setjmp there. The first time it
   gives 0 and the calls of the process act on the child; execve and _exit jump back here with the child's pid. */
#if !defined(__CLOCHE_NO_VFORK) && (defined(_XOPEN_SOURCE) || defined(_GNU_SOURCE) || defined(_BSD_SOURCE))
#ifdef __cplusplus
extern "C" {
#endif

extern unsigned long long __cloche_vfork_buf[];
int __cloche_vfork(void);
int __cloche_vfork_setjmp(void *) __asm__("setjmp") __attribute__((__returns_twice__));

#ifdef __cplusplus
}
#endif

#define vfork() (__cloche_vfork() ? -1 : __cloche_vfork_setjmp(__cloche_vfork_buf))
#endif
