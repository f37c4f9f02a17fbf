"""The program's random numbers are asked of the system each time, so that forks of a sandbox share none. These lines are under OpenSSL's
licence."""

from edits import after, before, replace

WHY = "draws random numbers from the system"
before("openssl/apps/openssl.c", "int main(int argc, char *argv[])\n", """#include <openssl/rand.h>
#include <sys/random.h>

static int fill_random(unsigned char *out, int size)
{
    for (int done = 0; done < size;) {
        const ssize_t count = getrandom(out + done, (size_t)(size - done), 0);

        if (count <= 0)
            return 0;
        done += (int)count;
    }
    return 1;
}

static int has_random(void)
{
    return 1;
}

static const RAND_METHOD system_random = { NULL, fill_random, NULL, NULL, fill_random, has_random };

""", WHY)
after("openssl/apps/openssl.c", """    arg.size = 0;

""", """    RAND_set_rand_method(&system_random);

""", WHY)

replace("openssl/util/mkbuildinf.pl", "my $cflags = join(' ', @ARGV);\n", "my $cflags = join(' ', 'cc', @ARGV[1..$#ARGV]);\n",
        "names no folder of the machine that builds it")
