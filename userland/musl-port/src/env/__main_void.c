#include "cloche_start.h"

// The compiler calls main(void) __main_void, main with two arguments __main_argc_argv, and any other one main. Each of
// these files is linked only when the program does not define its symbol, and passes on to the next.
int __main_argc_argv(int, char **);

int __main_void(void)
{
  return __main_argc_argv(__cloche_start.argc, __cloche_start.argv);
}
