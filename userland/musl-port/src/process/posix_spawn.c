#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#include "cloche_kernel.h"
#include "../fdop.h"
#include "ksigaction.h"
#include "syscall.h"

// Between vfork_begin and the exec the calls of this process act on the child, so a spawn is a plain sequence of calls:
// no second stack, no pipe for the error. Handlers wait until it is over.

static long set_default_signals(const sigset_t *set)
{
  struct k_sigaction action = { SIG_DFL };
  for (int signo = 1; signo < _NSIG; signo++) {
    if (!sigismember(set, signo)) continue;
    if (signo == SIGKILL || signo == SIGSTOP) continue;
    long r = __syscall(SYS_rt_sigaction, signo, &action, 0, _NSIG / 8);
    if (r < 0) return r;
  }
  return 0;
}

static long apply_attributes(const posix_spawnattr_t *attr)
{
  long r = 0;
  if (attr->__flags & POSIX_SPAWN_SETSIGDEF) r = set_default_signals(&attr->__def);
  if (r >= 0 && (attr->__flags & POSIX_SPAWN_SETSID)) r = __syscall(SYS_setsid);
  if (r >= 0 && (attr->__flags & POSIX_SPAWN_SETPGROUP)) r = __syscall(SYS_setpgid, 0, attr->__pgrp);
  if (r >= 0 && (attr->__flags & POSIX_SPAWN_RESETIDS)) {
    r = __syscall(SYS_setgid, __syscall(SYS_getgid));
    if (r >= 0) r = __syscall(SYS_setuid, __syscall(SYS_getuid));
  }
  if (r >= 0 && (attr->__flags & POSIX_SPAWN_SETSIGMASK))
    r = __syscall(SYS_rt_sigprocmask, SIG_SETMASK, &attr->__mask, 0, _NSIG / 8);
  return r;
}

static long open_at(const struct fdop *op)
{
  long fd = __sys_open(op->path, op->oflag, op->mode);
  if (fd < 0 || fd == op->fd) return fd;
  long r = __syscall(SYS_dup3, fd, op->fd, 0);
  __syscall(SYS_close, fd);
  return r;
}

static long duplicate(const struct fdop *op)
{
  if (op->srcfd != op->fd) return __syscall(SYS_dup3, op->srcfd, op->fd, 0);
  // The same number: what is asked for is that the exec keeps it.
  long flags = __syscall(SYS_fcntl, op->fd, F_GETFD);
  if (flags < 0) return flags;
  return __syscall(SYS_fcntl, op->fd, F_SETFD, flags & ~FD_CLOEXEC);
}

static long apply_action(const struct fdop *op)
{
  switch (op->cmd) {
  case FDOP_CLOSE:
    __syscall(SYS_close, op->fd);
    return 0;
  case FDOP_DUP2:
    return duplicate(op);
  case FDOP_OPEN:
    return open_at(op);
  case FDOP_CHDIR:
    return __syscall(SYS_chdir, op->path);
  case FDOP_FCHDIR:
    return __syscall(SYS_fchdir, op->fd);
  }
  return -EINVAL;
}

static long apply_actions(const posix_spawn_file_actions_t *actions)
{
  struct fdop *op = actions ? actions->__actions : 0;
  // The list is kept newest first.
  while (op && op->next) op = op->next;
  for (; op; op = op->prev) {
    long r = apply_action(op);
    if (r < 0) return r;
  }
  return 0;
}

// Calls that are made in the child's name. The child's pid when its program has started; else -errno.
static long start(const char *path, const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attr,
    char *const argv[], char *const envp[])
{
  // posix_spawnp passes execvpe here, which looks along PATH.
  int (*exec)(const char *, char *const *, char *const *) = execve;
  long r = 0;
  if (attr) r = apply_attributes(attr);
  if (r >= 0) r = apply_actions(actions);
  if (r < 0) return r;
  if (attr && attr->__fn) exec = (int (*)(const char *, char *const *, char *const *))attr->__fn;
  __cloche_spawned = 0;
  exec(path, argv, envp);
  return __cloche_spawned ? __cloche_spawned : -errno;
}

int posix_spawn(pid_t *restrict res, const char *restrict path, const posix_spawn_file_actions_t *actions,
    const posix_spawnattr_t *restrict attr, char *const argv[restrict], char *const envp[restrict])
{
  int saved_errno = errno;
  if (__cloche_vforking) return EAGAIN;
  long r = __cloche_syscall(CLOCHE_VFORK_BEGIN, 0, 0, 0, 0, 0, 0);
  if (r < 0) return -r;
  __cloche_vforking = CLOCHE_SPAWNING;
  long pid = start(path, actions, attr, argv, envp);
  if (pid < 0) {
    // The child that came to nothing ends and is reaped, so that nobody's wait sees it.
    long child = __syscall(SYS_exit_group, 127);
    __cloche_vforking = 0;
    if (child > 0) waitpid(child, 0, 0);
  }
  __cloche_vforking = 0;
  errno = saved_errno;
  if (pid < 0) return -pid;
  if (res) *res = pid;
  return 0;
}
