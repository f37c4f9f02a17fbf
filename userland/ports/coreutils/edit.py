"""coreutils without fork, and stdbuf without a library to load. These lines are under coreutils' licence (GPL-3.0-or-later).

All programs that fork do so to execute something: build.sh calls fork vfork. What is here are the other cases.
"""

from edits import replace

replace("src/sort.c", "static pid_t\npipe_fork (",
        "static inline __attribute__ ((__always_inline__, __returns_twice__)) pid_t\npipe_fork (",
        "has the frame of the vfork in the function that executes")
replace("lib/savewd.c", "          wd->val.child = fork ();\n", "          wd->val.child = -1;\n",
        "has no child with another directory: the directory that cannot be come back to is told")
# The C library of guests reads the variables itself.
replace("src/stdbuf.c", "  set_LD_PRELOAD ();\n", "", "needs no library to preload")
replace("configure", "\nstdbuf_supported=no\n", "\nstdbuf_supported=yes\n", "builds stdbuf")
replace("configure", "  *' stdbuf '*) pkglibexec_PROGRAMS=", "  *' no library '*) pkglibexec_PROGRAMS=",
        "builds stdbuf without its library")
replace("src/timeout.c", "      return exit_status;\n", "      _exit (exit_status);\n",
        "ends the child by _exit: a vforked one cannot return from main")
