"""Where the C library is another one than GNU's."""

from edits import after, replace

why = "sees that no file could be opened: a failed freopen leaves stdin's number as it was here"
replace("text-utils/hexdump-display.c", "if (fileno(stdin) == -1) {", "if (fcntl(fileno(stdin), F_GETFD) == -1) {", why)
after("text-utils/hexdump-display.c", "#include <errno.h>\n", "#include <fcntl.h>\n", why)
