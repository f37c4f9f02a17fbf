#include "cloche_start.h"

int __cloche_main_envp(int, char **, char **) __asm__("main");
int __cloche_main_args(int, char **) __asm__("__main_argc_argv");

int __cloche_main_args(int argc, char **argv)
{
  return __cloche_main_envp(argc, argv, __cloche_start.envp);
}
