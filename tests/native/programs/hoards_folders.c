// SPDX-License-Identifier: Apache-2.0
// Open folders of the image to which many files were added: of each that was read the kernel keeps a list
// of all entries of its own, where something has changed since the one before. Or such folders on their way
// to a socket, which nobody has open; or to one that is on its way itself, of which nothing tells what it
// has. Who has them is ended, and not who waits.
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "attack.h"

enum { files = 8000, length = 200, most = 300, some = 5, depth = 3, seconds = 30 };

static void fill(void) {
  char name[length + 1];
  memset(name, 'a', length);
  for (int i = 0; i < files; ++i) {
    snprintf(name + length - 8, 9, "%08d", i);
    close(open(name, O_CREAT | O_WRONLY, 0600));
  }
}

static int send_away(const int* ends, int file) {
  char byte = 0, beside[CMSG_SPACE(sizeof file)] = {0};
  struct iovec bytes = {&byte, 1};
  struct msghdr message = {
      .msg_iov = &bytes, .msg_iovlen = 1, .msg_control = beside, .msg_controllen = sizeof beside};
  struct cmsghdr* const head = CMSG_FIRSTHDR(&message);
  *head = (struct cmsghdr){CMSG_LEN(sizeof file), SOL_SOCKET, SCM_RIGHTS};
  memcpy(CMSG_DATA(head), &file, sizeof file);
  return sendmsg(ends[0], &message, MSG_DONTWAIT) == 1 && close(file) == 0;
}

static int open_another(void) {
  static char entries[4096];
  const int folder = open(".", O_RDONLY | O_DIRECTORY);
  if (folder < 0 || syscall(SYS_getdents64, folder, entries, sizeof entries) <= 0) return -1;
  close(open("changed", O_CREAT | O_WRONLY, 0600));
  unlink("changed");
  return folder;
}

static void hoard(void) {
  for (int i = 0; i < most && open_another() >= 0; ++i) continue;
}

static void hoard_sent(void) {
  int ends[2] = {-1, -1};
  for (int i = 0; i < most; ++i) {
    const int folder = open_another();
    while (!send_away(ends, folder)) {  // it is full: another one
      close(ends[0]);
      if (socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) != 0) return;
    }
  }
}

// A socket with a few on their way to it; or with such sockets.
static int hide(int depth) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) != 0) return -1;
  for (int i = 0; i < some; ++i) {
    if (!send_away(ends, depth == 1 ? open_another() : hide(depth - 1))) return -1;
  }
  close(ends[0]);
  return ends[1];
}

static void hoard_sent_on(void) {
  for (int i = 0; i < most && hide(depth) >= 0; i += some * some * some) continue;
}

int main(int count, char** words) {
  if (chdir("/tmp") != 0) return 1;
  fill();
  const pid_t child = fork();
  if (child == 0) {
    alarm(seconds);
    if (count == 1)
      hoard();
    else if (strcmp(words[1], "sent") == 0)
      hoard_sent();
    else
      hoard_sent_on();
    for (;;) pause();
  }
  int status = 0;
  waitpid(child, &status, 0);
  must_fail("folders", WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL ? -1 : 0);
  return verdict();
}
