"""diffutils without a handler of stack overflows: one ends a guest. These lines are under diffutils's licence (GPL-3.0-or-later)."""

import pathlib

from edits import replace

replace("lib/c-stack.c", "#if HAVE_STACK_OVERFLOW_RECOVERY\n", "#if 0\n", "leaves stack overflows to the kernel")
for name in ("sigsegv", "stackvma"):
    pathlib.Path(f"lib/{name}.c").write_text("typedef int nothing_here;\n")
# As Debian's: outside the locale "C" cmp says "byte", also without translations.
replace("src/cmp.c", "#if defined LC_MESSAGES && ENABLE_NLS\n", "#if defined LC_MESSAGES\n", "words a difference by the locale")
