"""find and xargs without fork: build.sh calls it vfork. These lines are under findutils' licence (GPL-3.0-or-later)."""

from edits import after, replace

# The child works on the memory of its parent until it executes.
after("xargs/xargs.c", "  unsigned int slot = add_proc (0);\n", "  procs_executing--;\n",
      "counts a child once: the parent adds it too")
replace("xargs/xargs.c", "\t    close (fd[0]);\n\t    child_error = EXIT_SUCCESS;\n", "\t    close (fd[0]);\n",
        "keeps the status that earlier children gave the parent")
