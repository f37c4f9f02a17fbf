// SPDX-License-Identifier: Apache-2.0
// The machine's settings and secrets in /proc, and devices.
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "attack.h"

static void must_be_empty(const char* path) {
  char text[16];
  int file = open(path, O_RDONLY);
  must_fail(path, file < 0 || read(file, text, sizeof text) <= 0 ? -1 : 0);
}

int main(void) {
  const char* settings[] = {
      "/proc/sys/kernel/core_pattern",     "/proc/sys/kernel/modprobe",
      "/proc/sys/kernel/hostname",         "/proc/sys/vm/overcommit_memory",
      "/proc/sys/net/ipv4/ip_forward",     "/proc/sys/user/max_user_namespaces",
      "/proc/sys/fs/binfmt_misc/register", "/proc/irq/0/smp_affinity"};
  for (unsigned i = 0; i < sizeof settings / sizeof *settings; ++i)
    must_fail(settings[i], open(settings[i], O_WRONLY));
  const int locked = open("/tmp/locked", O_CREAT | O_RDWR, 0600);
  fcntl(locked, F_SETLK, &(struct flock){.l_type = F_WRLCK});
  const char* secrets[] = {"/proc/kcore",      "/proc/keys",       "/proc/kallsyms",
                           "/proc/timer_list", "/proc/interrupts", "/proc/cmdline",
                           "/proc/locks",      "/dev/mem",         "/dev/kmsg"};
  for (unsigned i = 0; i < sizeof secrets / sizeof *secrets; ++i) must_be_empty(secrets[i]);
  int trigger = open("/proc/sysrq-trigger", O_WRONLY);
  struct stat of = {0};
  must_fail("sysrq", trigger >= 0 && fstat(trigger, &of) == 0 && !S_ISCHR(of.st_mode) ? 0 : -1);
  must_fail("a disk", mknod("/tmp/disk", S_IFBLK | 0600, makedev(8, 0)));
  must_fail("memory", mknod("/tmp/mem", S_IFCHR | 0600, makedev(1, 1)));
  int terminal = open("/dev/ptmx", O_RDWR | O_NOCTTY);
  must_fail("TIOCSTI", ioctl(terminal, TIOCSTI, "x"));
  must_fail("TIOCSTI with high bits",
            syscall(SYS_ioctl, terminal, 0xffffffff00000000 | TIOCSTI, "x"));
  must_fail("TIOCSETD", ioctl(terminal, TIOCSETD, &(int){1}));
  return verdict();
}
