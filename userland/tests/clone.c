// cloche_clone: the child has a copy of the memory and of the descriptors, its own pid, and its result is its exit status; a
// clone of a clone; a heap that both grow; many at once.
#include <cloche.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int shared = 1;
static pid_t parent;

struct task {
  int out;
  char *text;
};

static int change(void *arg)
{
  struct task *task = arg;
  shared = 2;
  strcpy(task->text, "changed in the child");
  char line[100];
  int n = snprintf(line, sizeof line, "child %d %d %d", getpid() != parent, getppid() == parent, (int)shared);
  write(task->out, line, (size_t)n);
  return 33;
}

static int grandchild(void *arg)
{
  return *(int *)arg + 1;
}

static int child_with_child(void *arg)
{
  int status;
  pid_t pid = cloche_clone(grandchild, arg);
  if (pid < 0 || waitpid(pid, &status, 0) != pid) return 99;
  return WEXITSTATUS(status) + 1;
}

static int fill_heap(void *arg)
{
  size_t size = 3 << 20;
  char *block = malloc(size);
  if (!block) return 1;
  memset(block, *(int *)arg, size);
  for (size_t i = 0; i < size; i++)
    if (block[i] != (char)*(int *)arg) return 2;
  return 0;
}

static int status_of(pid_t pid)
{
  int status = -1;
  if (pid < 0 || waitpid(pid, &status, 0) != pid) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static int trap_now(void *arg)
{
  (void)arg;
  __builtin_trap();
}

int main(void)
{
  char text[40] = "of the parent", line[100] = "";
  int ends[2], n = 40;
  parent = getpid();
  if (pipe(ends)) return 1;
  struct task task = { ends[1], text };
  int status = status_of(cloche_clone(change, &task));
  read(ends[0], line, sizeof line - 1);
  printf("%s\nstatus %d, memory %d, %s\n", line, status, shared, text);
  printf("nested %d\n", status_of(cloche_clone(child_with_child, &n)));

  pid_t pids[8];
  int seeds[8], failed = 0;
  for (int i = 0; i < 8; i++) {
    seeds[i] = i;
    pids[i] = cloche_clone(fill_heap, &seeds[i]);
  }
  fill_heap(&n);
  for (int i = 0; i < 8; i++) failed += status_of(pids[i]) != 0;
  printf("heaps failed %d\n", failed);
  printf("trap %d\n", status_of(cloche_clone(trap_now, 0)));
  return 0;
}
