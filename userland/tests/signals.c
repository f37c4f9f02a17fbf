// Signals: a handler, siginfo, masks and pending, a longjmp out of a handler, EINTR and SA_RESTART, ignoring, alarm in a loop
// that makes no system calls. Prints one line a case.
#define _GNU_SOURCE
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cloche.h>

static volatile sig_atomic_t caught, sender, ticks;
static sigjmp_buf out;

static void note(int signo)
{
  caught = signo;
}

static void note_info(int signo, siginfo_t *info, void *context)
{
  caught = signo;
  sender = info->si_pid;
  if (!context) caught = 0;
}

static void escape(int signo)
{
  siglongjmp(out, signo);
}

static void tick(int signo)
{
  (void)signo;
  ticks++;
}

static void install(int signo, void (*handler)(int), int flags)
{
  struct sigaction action = { 0 };
  action.sa_handler = handler;
  action.sa_flags = flags;
  sigaction(signo, &action, 0);
}

static int signal_parent_later(void *arg)
{
  (void)arg;
  struct timespec delay = { 0, 50000000 };
  nanosleep(&delay, 0);
  kill(getppid(), SIGUSR1);
  return 0;
}

static int write_later(void *arg)
{
  struct timespec delay = { 0, 50000000 };
  nanosleep(&delay, 0);
  kill(getppid(), SIGUSR1);
  nanosleep(&delay, 0);
  return write(*(int *)arg, "x", 1) != 1;
}

static void test_interrupted_read(int flags, const char *name)
{
  int ends[2];
  char c = 0;
  if (pipe(ends)) exit(1);
  caught = 0;
  install(SIGUSR1, note, flags);
  cloche_clone(write_later, &ends[1]);
  errno = 0;
  ssize_t n = read(ends[0], &c, 1);
  printf("%s %d %d caught %d\n", name, (int)n, n < 0 && errno == EINTR, caught == SIGUSR1);
  while (wait(0) > 0 || errno == EINTR) continue;
  close(ends[0]);
  close(ends[1]);
}

int main(void)
{
  install(SIGUSR1, note, 0);
  raise(SIGUSR1);
  printf("raise %d\n", caught == SIGUSR1);

  struct sigaction action = { 0 };
  action.sa_sigaction = note_info;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGUSR2, &action, 0);
  kill(getpid(), SIGUSR2);
  printf("siginfo %d from self %d\n", caught == SIGUSR2, sender == getpid());

  sigset_t set, old;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  sigprocmask(SIG_BLOCK, &set, &old);
  caught = 0;
  raise(SIGUSR1);
  sigset_t pending;
  sigpending(&pending);
  printf("blocked caught %d pending %d\n", (int)caught, sigismember(&pending, SIGUSR1));
  sigprocmask(SIG_SETMASK, &old, 0);
  printf("unblocked %d\n", caught == SIGUSR1);

  install(SIGUSR1, escape, 0);
  int got = sigsetjmp(out, 1);
  if (got == 0) raise(SIGUSR1);
  printf("escaped %d\n", got == SIGUSR1);
  got = sigsetjmp(out, 1);
  if (got == 0) raise(SIGUSR1);
  printf("escaped again %d\n", got == SIGUSR1);

  install(SIGUSR1, SIG_IGN, 0);
  raise(SIGUSR1);
  puts("ignored");

  test_interrupted_read(0, "eintr");
  test_interrupted_read(SA_RESTART, "restart");

  install(SIGUSR1, note, 0);
  caught = 0;
  sigprocmask(SIG_BLOCK, &set, 0);
  cloche_clone(signal_parent_later, 0);
  sigsuspend(&old);
  printf("sigsuspend %d\n", caught == SIGUSR1);
  while (wait(0) > 0) continue;

  install(SIGALRM, tick, 0);
  alarm(1);
  unsigned long long turns = 0;
  while (!ticks) turns++;
  printf("alarm in a loop %d\n", turns > 0);
  return 0;
}
