// SPDX-License-Identifier: Apache-2.0
// Marks of the file system that lies over the image: what hides a file, or says that a folder is
// another one. And a file of the image, by another name: what is written is this box's alone.
// forges_layers FILE
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

#include "attack.h"

static int has(const char* folder, const char* mark) {
  char value[64];
  return getxattr(folder, mark, value, sizeof value) > 0;
}

int main(int argc, char** argv) {
  must_fail("whiteout", mknod("/workspace/gone", S_IFCHR | 0600, makedev(0, 0)));
  must_fail("whiteout in the root", mknod("/usr/gone", S_IFCHR | 0600, makedev(0, 0)));
  mkdir("/workspace/folder", 0755);
  const char* marks[] = {"trusted.overlay.opaque", "trusted.overlay.redirect",
                         "trusted.overlay.metacopy", "security.capability"};
  for (unsigned i = 0; i < sizeof marks / sizeof *marks; ++i)
    must_fail(marks[i], setxattr("/workspace/folder", marks[i], "y", 1, 0));
  // Its own marks are names like others to the guest, or refused: a folder of the image is not hidden.
  setxattr("/usr", "user.overlay.opaque", "y", 1, 0);
  setxattr("/usr", "user.overlay.redirect", "/etc", 4, 0);
  if (access("/usr/bin", F_OK) != 0) must_fail("a folder of the image is hidden", 0);
  if (has("/usr", "trusted.overlay.opaque")) must_fail("a mark of the machine", 0);
  if (argc < 2) return 2;
  link(argv[1], "/workspace/link");
  int file = open("/workspace/link", O_WRONLY | O_TRUNC);
  (void)!write(file, "forged", 6);
  close(file);
  file = open(argv[1], O_WRONLY | O_TRUNC);
  (void)!write(file, "forged", 6);
  close(file);
  return verdict();
}
