#ifndef _CLOCHE_H
#define _CLOCHE_H

/* What Cloche has beyond Linux; docs/guest-abi.md is the contract. */

#ifdef __cplusplus
extern "C" {
#endif

/* A child process that runs fn(arg) over a copy of this one's memory and descriptors and exits with the result, without
   flushing stdio: for programs that would fork and not exec. Frames of the caller do not exist in the child: it
   must neither return nor longjmp into them; arg may point to them. Gives the child's pid, or -1 and errno. */
int cloche_clone(int (*fn)(void *), void *arg);

/* The start block (argc, argv, 0, envp, 0, auxv pairs, strings), at buf. Both give bytes, or -1 and errno. */
int cloche_startup_size(void);
int cloche_startup_copy(void *buf, unsigned long size);

/* Says that an image of this program may be taken here. 0: go on. 1: it has just been started from such an image, so the
   arguments, the environment and all entropy are stale: cloche_startup_copy has the new ones. */
int cloche_boot_point(void);

#ifdef __cplusplus
}
#endif

#endif
