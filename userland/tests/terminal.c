// An interactive bash on a pseudo terminal: readline edits the line, job control stops and continues a job, ^C ends one. Prints
// what was seen, one line a case. argv[1] is the shell, /bin/bash when absent.
#define _GNU_SOURCE
#include <cloche.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

static char seen[1 << 16];
static size_t seen_size;

struct shell {
  const char *program;
  const char *terminal;
};

static int run_shell(void *arg)
{
  struct shell *shell = arg;
  setsid();
  int fd = open(shell->terminal, O_RDWR);
  if (fd < 0 || ioctl(fd, TIOCSCTTY, 0)) return 120;
  for (int i = 0; i < 3; i++) dup2(fd, i);
  if (fd > 2) close(fd);
  setenv("TERM", "xterm", 1);
  setenv("PS1", "<ready>", 1);
  execl(shell->program, "bash", "--norc", "--noprofile", "-i", (char *)0);
  return 121;
}

// Reads until the text is there; 0 when it does not come in ten seconds.
static int expect(int master, const char *text)
{
  struct pollfd poll_fd = { master, POLLIN, 0 };
  while (!strstr(seen, text)) {
    if (seen_size + 1 >= sizeof seen || poll(&poll_fd, 1, 10000) <= 0) return 0;
    ssize_t n = read(master, seen + seen_size, sizeof seen - 1 - seen_size);
    if (n <= 0) return 0;
    seen_size += (size_t)n;
    seen[seen_size] = 0;
  }
  return 1;
}

static void type(int master, const char *keys)
{
  seen_size = 0;
  seen[0] = 0;
  if (write(master, keys, strlen(keys)) < 0) exit(1);
}

int main(int argc, char **argv)
{
  int master = posix_openpt(O_RDWR | O_NOCTTY);
  if (master < 0 || grantpt(master) || unlockpt(master)) return 1;
  fcntl(master, F_SETFD, FD_CLOEXEC);
  struct shell shell = { argc > 1 ? argv[1] : "/bin/bash", ptsname(master) };
  pid_t pid = cloche_clone(run_shell, &shell);
  printf("prompt %d\n", expect(master, "<ready>"));
  type(master, "echo A$((6*7))B\n");
  printf("echo %d\n", expect(master, "A42B") && expect(master, "<ready>"));
  type(master, "echo Z$((4+2))\x1b[D\x1b[D" "0\x05" "Y\n");  // left, left, insert, end of line
  printf("edit %d\n", expect(master, "Z24Y") && expect(master, "<ready>"));
  type(master, "\x1b[A\n");  // the command before
  printf("history %d\n", expect(master, "Z24Y") && expect(master, "<ready>"));
  type(master, "sleep 100\n");
  expect(master, "sleep 100\r\n");
  usleep(200000);
  type(master, "\x1a");
  printf("stopped %d\n", expect(master, "Stopped") && expect(master, "<ready>"));
  type(master, "bg; jobs\n");
  printf("running %d\n", expect(master, "Running") && expect(master, "<ready>"));
  type(master, "fg\n");
  expect(master, "sleep 100\r\n");
  usleep(200000);
  type(master, "\x03");
  printf("interrupted %d\n", expect(master, "<ready>"));
  type(master, "echo S$?\n");
  printf("status %d\n", expect(master, "S130"));
  type(master, "exit 7\n");
  int status = 0;
  waitpid(pid, &status, 0);
  printf("exit %d\n", WEXITSTATUS(status));
  return 0;
}
