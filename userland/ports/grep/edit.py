"""grep without a handler of stack overflows: one ends a guest. These lines are under grep's licence (GPL-3.0-or-later)."""

import pathlib

from edits import replace

replace("lib/c-stack.c", "#if HAVE_STACK_OVERFLOW_RECOVERY\n", "#if 0\n", "leaves stack overflows to the kernel")
for name in ("sigsegv", "stackvma"):
    pathlib.Path(f"lib/{name}.c").write_text("typedef int nothing_here;\n")
# As Debian's: a script's `\d` is taken as ever, without a word.
replace("src/dfasearch.c", "DFA_CONFUSING_BRACKETS_ERROR | DFA_STRAY_BACKSLASH_WARN\n", "DFA_CONFUSING_BRACKETS_ERROR\n",
        "says nothing about stray backslashes")
# A loop has a check at its head here, so that a guest can be stopped: the one that takes most of the time takes several letters a turn.
replace("lib/dfa.c", "                }\n              s = t[*p++];\n            }\n", """                }
              s = t[*p++];
#pragma clang loop unroll(full)
              for (int step = 0; step < 8 && d->min_trcount <= s && (t = trans[s]); step++)
                {
                  s1 = s;
                  s = t[*p++];
                }
            }
""", "looks at several letters a turn")
