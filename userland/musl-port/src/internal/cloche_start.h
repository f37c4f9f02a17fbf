#ifndef CLOCHE_START_H
#define CLOCHE_START_H

// The arguments as _start got them, for the main that the program has.
extern struct cloche_start {
  int argc;
  char **argv;
  char **envp;
} __cloche_start;

#endif
