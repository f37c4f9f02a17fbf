#define _GNU_SOURCE
#include <unistd.h>

pid_t fork(void)
{
  return _Fork();
}
