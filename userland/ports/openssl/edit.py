"""The program's random numbers are asked of the system each time, so that forks of a sandbox share none. These lines are under OpenSSL's
licence."""

from edits import after, before, replace

WHY = "draws random numbers from the system"
before("openssl/apps/openssl.c", "int main(int argc, char *argv[])\n", """#include "system_random.h"

""", WHY)
after("openssl/apps/openssl.c", """    arg.size = 0;

""", """    RAND_set_rand_method(&system_random);

""", WHY)

replace("openssl/util/mkbuildinf.pl", "my $cflags = join(' ', @ARGV);\n", "my $cflags = join(' ', 'cc', @ARGV[1..$#ARGV]);\n",
        "names no folder of the machine that builds it")
