#ifndef CLOCHE_KERNEL_H
#define CLOCHE_KERNEL_H

// The kernel's two imports, its calls beyond Linux, and what the port's files share. See docs/guest-abi.md.

#include <features.h>

#define CLOCHE_STARTUP_SIZE 0x1000
#define CLOCHE_STARTUP_COPY 0x1001
#define CLOCHE_SIGNAL_NEXT 0x1002
#define CLOCHE_SIGNAL_RETURN 0x1003
#define CLOCHE_VFORK_BEGIN 0x1004
#define CLOCHE_BOOT_POINT 0x1005

// An interrupted call that is to be issued again after the handlers.
#define CLOCHE_ERESTART 512

struct cloche_signal {
  int signo;
  int handler;
  int flags;
  int pad;
  unsigned long long restore_mask;
  int code, pid, uid, status;
  unsigned char siginfo[128];
  unsigned char reserved[8];
};

__attribute__((__import_module__("linux"), __import_name__("syscall")))
long __linux_syscall(long, long, long, long, long, long, long);

__attribute__((__import_module__("linux"), __import_name__("clone")))
int __linux_clone(int (*)(void *), void *, int);

// Not 0 between vfork_begin and the exec or exit that ends that state: no handler runs then, for its calls would act on
// the child. CLOCHE_VFORKED: execve and _exit jump back to the vfork. CLOCHE_SPAWNING: execve comes back with
// -1, errno 0 and the pid in __cloche_spawned, so that execvpe looks no further.
#define CLOCHE_VFORKED 1
#define CLOCHE_SPAWNING 2
extern hidden int __cloche_vforking;
extern hidden int __cloche_spawned;
extern unsigned long long __cloche_vfork_buf[];
_Noreturn void __wasm_longjmp(void *, int);

// Set by the kernel: a signal with a handler can be taken.
extern volatile int __cloche_sigpending;

hidden void __cloche_run_signals(void);

// Executes for execvp and its like: execve, or sh where the file is a text without #!. -1 and errno.
hidden int __cloche_exec(const char *path, char *const argv[], char *const envp[]);

// The buffers of stdin, stdout and stderr as the environment asks for them.
hidden void __cloche_stdbuf(char **envp);

#endif
