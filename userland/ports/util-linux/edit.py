"""Where the C library is another one than GNU's, and a child that only executes shares its parent's memory."""

from edits import after, replace

why = "sees that no file could be opened: a failed freopen leaves stdin's number as it was here"
replace("text-utils/hexdump-display.c", "if (fileno(stdin) == -1) {", "if (fcntl(fileno(stdin), F_GETFD) == -1) {", why)
after("text-utils/hexdump-display.c", "#include <errno.h>\n", "#include <fcntl.h>\n", why)

why = "the child of vfork leaves the parent's numbers of the terminal's ends as they are"
replace("lib/pty-session.c", "\tpty->slave = -1;\n\tpty->master = -1;\n\tpty->sigfd = -1;\n\n\tsigprocmask", "\tsigprocmask", why)
