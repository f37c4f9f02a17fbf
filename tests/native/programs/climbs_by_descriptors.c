// SPDX-License-Identifier: Apache-2.0
// Out of the root by descriptors of folders: handed to another process, of folders that are gone or
// were moved, by the names that /proc has for them.
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "attack.h"

static struct stat root;

static void must_be_inside(const char* what, int folder) {
  struct stat now = {0};
  for (int i = 0; i < 64; ++i) {
    int up = openat(folder, "..", O_PATH | O_DIRECTORY);
    if (up < 0) return;
    folder = up;
  }
  fstat(folder, &now);
  must_fail(what, now.st_ino == root.st_ino && now.st_dev == root.st_dev ? -1 : 0);
}

static void send_folder(int socket, int folder) {
  union {
    char bytes[CMSG_SPACE(sizeof(int))];
    struct cmsghdr head;
  } control = {{0}};
  char byte = 0;
  struct iovec part = {&byte, 1};
  struct msghdr message = {
      .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
  control.head.cmsg_level = SOL_SOCKET;
  control.head.cmsg_type = SCM_RIGHTS;
  control.head.cmsg_len = CMSG_LEN(sizeof(int));
  memcpy(CMSG_DATA(&control.head), &folder, sizeof folder);
  sendmsg(socket, &message, 0);
}

static int receive_folder(int socket) {
  union {
    char bytes[CMSG_SPACE(sizeof(int))];
    struct cmsghdr head;
  } control = {{0}};
  char byte = 0;
  struct iovec part = {&byte, 1};
  struct msghdr message = {
      .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
  int folder = -1;
  if (recvmsg(socket, &message, 0) == 1) memcpy(&folder, CMSG_DATA(&control.head), sizeof folder);
  return folder;
}

int main(void) {
  stat("/", &root);
  mkdir("/workspace/a", 0755);
  mkdir("/workspace/a/b", 0755);
  mkdir("/tmp/c", 0755);
  int ends[2];
  socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
  int deep = open("/workspace/a/b", O_PATH | O_DIRECTORY);
  send_folder(ends[0], deep);
  if (fork() == 0) {
    int folder = receive_folder(ends[1]);
    rename("/workspace/a/b", "/tmp/c/b");
    must_be_inside("a folder that was moved", folder);
    rmdir("/tmp/c/b");
    must_be_inside("a folder that is gone", folder);
    fchdir(folder);
    must_be_inside("the directory of a process", AT_FDCWD);
    must_be_inside("/proc/self/cwd", open("/proc/self/cwd", O_PATH | O_DIRECTORY));
    _exit(openings != 0);
  }
  int status = 0;
  wait(&status);
  must_fail("what a child says", status == 0 ? -1 : 0);
  must_be_inside("/proc/self/root", open("/proc/self/root", O_PATH | O_DIRECTORY));
  must_be_inside("/dev/shm", open("/dev/shm", O_PATH | O_DIRECTORY));
  must_be_inside("/proc/sys", open("/proc/sys", O_PATH | O_DIRECTORY));
  return verdict();
}
