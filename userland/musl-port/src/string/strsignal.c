#include <signal.h>
#include <stdio.h>
#include <string.h>

// The texts of signals as GNU's C library has them.
static const char texts[][26] = {
  [SIGHUP] = "Hangup",
  [SIGINT] = "Interrupt",
  [SIGQUIT] = "Quit",
  [SIGILL] = "Illegal instruction",
  [SIGTRAP] = "Trace/breakpoint trap",
  [SIGABRT] = "Aborted",
  [SIGBUS] = "Bus error",
  [SIGFPE] = "Floating point exception",
  [SIGKILL] = "Killed",
  [SIGUSR1] = "User defined signal 1",
  [SIGSEGV] = "Segmentation fault",
  [SIGUSR2] = "User defined signal 2",
  [SIGPIPE] = "Broken pipe",
  [SIGALRM] = "Alarm clock",
  [SIGTERM] = "Terminated",
  [SIGSTKFLT] = "Stack fault",
  [SIGCHLD] = "Child exited",
  [SIGCONT] = "Continued",
  [SIGSTOP] = "Stopped (signal)",
  [SIGTSTP] = "Stopped",
  [SIGTTIN] = "Stopped (tty input)",
  [SIGTTOU] = "Stopped (tty output)",
  [SIGURG] = "Urgent I/O condition",
  [SIGXCPU] = "CPU time limit exceeded",
  [SIGXFSZ] = "File size limit exceeded",
  [SIGVTALRM] = "Virtual timer expired",
  [SIGPROF] = "Profiling timer expired",
  [SIGWINCH] = "Window changed",
  [SIGPOLL] = "I/O possible",
  [SIGPWR] = "Power failure",
  [SIGSYS] = "Bad system call",
};

char *strsignal(int signo)
{
  static char other[40];
  if (signo > 0 && signo < (int)(sizeof texts / sizeof *texts)) return (char *)texts[signo];
  if (signo >= SIGRTMIN && signo <= SIGRTMAX)
    snprintf(other, sizeof other, "Real-time signal %d", signo - SIGRTMIN);
  else
    snprintf(other, sizeof other, "Unknown signal %d", signo);
  return other;
}
