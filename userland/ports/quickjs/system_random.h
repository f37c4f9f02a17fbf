// Random numbers for OpenSSL: the system's own, so that two that go on from one memory have nothing in common. For the one file of a
// program that sets it, before anything is drawn.
#include <openssl/rand.h>

#include <errno.h>
#include <sys/random.h>

static int fill_random(unsigned char *out, int size)
{
  for (int done = 0; done < size;) {
    const ssize_t count = getrandom(out + done, (size_t)(size - done), 0);
    if (count > 0) done += (int)count;
    else if (errno != EINTR) return 0;
  }
  return 1;
}

static int has_random(void)
{
  return 1;
}

static const RAND_METHOD system_random = { NULL, fill_random, NULL, NULL, fill_random, has_random };
