// setjmp, longjmp over frames, out of a handler's depth, and sigsetjmp with the mask. Prints one line a case.
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>

static jmp_buf outer;
static sigjmp_buf masked;

static void dive(int depth)
{
  char frame[100];
  frame[0] = (char)depth;
  if (depth == 0) longjmp(outer, 42);
  dive(depth - 1);
  if (frame[0] != (char)depth) puts("frame is broken");
}

static int nested(void)
{
  jmp_buf inner;
  int got = setjmp(inner);
  if (got == 0) longjmp(inner, 5);
  if (got == 5) longjmp(inner, 6);
  return got;
}

static void through_pointer(void)
{
  void (*volatile jump)(jmp_buf, int) = longjmp;
  int got = setjmp(outer);
  if (got == 0) jump(outer, 9);
  printf("pointer %d\n", got);
}

int main(void)
{
  volatile int count = 0;
  int got = setjmp(outer);
  count++;
  if (got == 0) dive(100);
  printf("deep %d %d\n", got, count);
  printf("nested %d\n", nested());
  got = setjmp(outer);
  if (got == 0) longjmp(outer, 0);
  printf("zero becomes %d\n", got);
  through_pointer();

  sigset_t block, now;
  sigemptyset(&block);
  sigaddset(&block, SIGUSR1);
  got = sigsetjmp(masked, 1);
  if (got == 0) {
    sigprocmask(SIG_BLOCK, &block, 0);
    siglongjmp(masked, 3);
  }
  sigprocmask(SIG_SETMASK, 0, &now);
  printf("mask %d blocked %d\n", got, sigismember(&now, SIGUSR1));
  return 0;
}
