#include <alloca.h>
#include <errno.h>
#include <unistd.h>
#include "cloche_kernel.h"

// What execvp tries: as in GNU's C library, a text that has no #! is a script of sh. posix_spawnp does not do so.
hidden int __cloche_exec(const char *path, char *const argv[], char *const envp[])
{
  execve(path, argv, envp);
  if (errno != ENOEXEC || __cloche_vforking == CLOCHE_SPAWNING) return -1;
  int count = 0;
  while (argv[count]) count++;
  char **script = alloca((count + 3) * sizeof *script);
  int used = 0;
  script[used++] = "/bin/sh";
  script[used++] = (char *)path;
  for (int i = 1; i < count; i++) script[used++] = argv[i];
  script[used] = 0;
  return execve(script[0], script, envp);
}
