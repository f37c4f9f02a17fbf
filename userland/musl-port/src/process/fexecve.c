#include <errno.h>
#include <fcntl.h>
#include <unistd.h>
#include "syscall.h"

// Through execve, which knows about vfork.
int fexecve(int fd, char *const argv[], char *const envp[])
{
  char path[15 + 3 * sizeof(int)];
  if (fcntl(fd, F_GETFD) < 0) return -1;
  __procfdname(path, fd);
  return execve(path, argv, envp);
}
