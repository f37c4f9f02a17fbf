// vfork with exec and with _exit, what the child changes and the parent keeps, posix_spawn, system, popen.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static int status_of(pid_t pid)
{
  int status = -1;
  if (waitpid(pid, &status, 0) != pid) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static void test_exec(void)
{
  int ends[2];
  char text[20] = "";
  if (pipe(ends)) exit(1);
  pid_t pid = vfork();
  if (pid == 0) {
    dup2(ends[1], 1);
    close(ends[0]);
    close(ends[1]);
    execl("/bin/sh", "sh", "-c", "echo child; exit 7", (char *)0);
    _exit(127);
  }
  close(ends[1]);
  ssize_t n = read(ends[0], text, sizeof text - 1);
  close(ends[0]);
  printf("exec wrote %d bytes: %.5s, status %d, parent's 1 %s\n", (int)n, text, status_of(pid),
      fcntl(1, F_GETFD) >= 0 ? "stays" : "is gone");
}

static void test_exit(void)
{
  char before[200], after[200];
  getcwd(before, sizeof before);
  pid_t pid = vfork();
  if (pid == 0) {
    if (chdir("/tmp")) _exit(1);
    close(1);
    _exit(9);
  }
  getcwd(after, sizeof after);
  printf("exit %d, directory %s\n", status_of(pid), strcmp(before, after) ? "changed" : "kept");
}

static void test_missing(void)
{
  pid_t pid = vfork();
  if (pid == 0) {
    execl("/nonexistent", "x", (char *)0);
    _exit(errno == ENOENT ? 3 : 4);
  }
  printf("missing %d\n", status_of(pid));
}

static void test_spawn(void)
{
  posix_spawn_file_actions_t actions;
  char text[20] = "";
  int ends[2];
  pid_t pid;
  if (pipe(ends)) exit(1);
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
  posix_spawn_file_actions_addclose(&actions, ends[0]);
  char *argv[] = { "sh", "-c", "echo spawned", 0 };
  int r = posix_spawnp(&pid, "sh", &actions, 0, argv, environ);
  close(ends[1]);
  ssize_t n = read(ends[0], text, sizeof text - 1);
  close(ends[0]);
  printf("spawn %d %d %.7s status %d\n", r, (int)n, text, status_of(pid));
  r = posix_spawn(&pid, "/nonexistent", 0, 0, argv, environ);
  printf("spawn missing %d, no child is left %d\n", r == ENOENT, waitpid(-1, 0, WNOHANG) < 0 && errno == ECHILD);
}

int main(void)
{
  setvbuf(stdout, 0, _IOLBF, 0);
  test_exec();
  test_exit();
  test_missing();
  test_spawn();
  printf("system %d\n", WEXITSTATUS(system("exit 5")));
  char text[20] = "";
  FILE *f = popen("echo popened", "r");
  if (f && fgets(text, sizeof text, f)) printf("popen %s", text);
  printf("pclose %d\n", f ? pclose(f) : -1);
  return 0;
}
