// mmap: anonymous memory is zero, also where pages were freed; files are copied in; MAP_SHARED is written back; mremap; brk.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int all_zero(const char *p, size_t n)
{
  for (size_t i = 0; i < n; i++)
    if (p[i]) return 0;
  return 1;
}

int main(void)
{
  size_t size = 1 << 20;
  char *p = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  printf("anonymous %d aligned %d\n", p != MAP_FAILED && all_zero(p, size), ((unsigned long)p & 4095) == 0);
  memset(p, 'x', size);
  munmap(p, size);
  char *q = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  printf("again %d\n", q != MAP_FAILED && all_zero(q, size));
  memset(q, 'y', size);
  q = mmap(q, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  printf("fixed %d, beside it %c\n", all_zero(q, 8192), q[8192]);

  char name[] = "/tmp/mmap-XXXXXX";
  int fd = mkstemp(name);
  write(fd, "hello file", 10);
  char *f = mmap(0, 10, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  printf("file %.10s tail %d\n", f, all_zero(f + 10, 4086));
  memcpy(f, "HELLO", 5);
  msync(f, 10, MS_SYNC);
  char text[20] = "";
  pread(fd, text, 10, 0);
  printf("msync %s\n", text);
  memcpy(f + 6, "FILE", 4);
  munmap(f, 10);
  pread(fd, text, 10, 0);
  printf("munmap %s\n", text);
  f = mmap(0, 10, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
  f[0] = 'j';
  munmap(f, 10);
  pread(fd, text, 10, 0);
  printf("private %s\n", text);
  unlink(name);

  char *r = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  r[0] = 'r';
  r = mremap(r, 4096, 1 << 16, MREMAP_MAYMOVE);
  printf("mremap %d\n", r != MAP_FAILED && r[0] == 'r' && all_zero(r + 1, 65535));
  void *blocks[100];
  int broken = 0;
  for (int i = 0; i < 100; i++) {
    blocks[i] = malloc((size_t)(1 + i) * 3000);
    memset(blocks[i], i, (size_t)(1 + i) * 3000);
  }
  for (int i = 0; i < 100; i++) {
    broken += ((char *)blocks[i])[i * 3000] != i;
    free(blocks[i]);
  }
  printf("malloc broken %d\n", broken);
  return 0;
}
