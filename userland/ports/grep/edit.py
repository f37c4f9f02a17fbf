"""grep without a handler of stack overflows: one ends a guest. These lines are under grep's licence (GPL-3.0-or-later)."""

import pathlib

from edits import replace

replace("lib/c-stack.c", "#if HAVE_STACK_OVERFLOW_RECOVERY\n", "#if 0\n", "leaves stack overflows to the kernel")
for name in ("sigsegv", "stackvma"):
    pathlib.Path(f"lib/{name}.c").write_text("typedef int nothing_here;\n")
# As Debian's: a script's `\d` is taken as ever, without a word.
replace("src/dfasearch.c", "DFA_CONFUSING_BRACKETS_ERROR | DFA_STRAY_BACKSLASH_WARN\n", "DFA_CONFUSING_BRACKETS_ERROR\n",
        "says nothing about stray backslashes")
