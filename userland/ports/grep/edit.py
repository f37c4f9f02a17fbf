"""grep without a handler of stack overflows: one ends a guest. These lines are under grep's licence (GPL-3.0-or-later)."""

import pathlib

from edits import before, replace

replace("lib/c-stack.c", "#if HAVE_STACK_OVERFLOW_RECOVERY\n", "#if 0\n", "leaves stack overflows to the kernel")
for name in ("sigsegv", "stackvma"):
    pathlib.Path(f"lib/{name}.c").write_text("typedef int nothing_here;\n")
# As Debian's: a script's `\d` is taken as ever, without a word.
replace("src/dfasearch.c", "DFA_CONFUSING_BRACKETS_ERROR | DFA_STRAY_BACKSLASH_WARN\n", "DFA_CONFUSING_BRACKETS_ERROR\n",
        "says nothing about stray backslashes")
# The transitions between the first states that cannot accept, as pointers to each other's rows: a letter costs one load
# that waits for the one before, and not two; and a loop has a check at its head here, so that a guest can be stopped:
# several letters are taken a turn.
replace("lib/dfa.c", "  state_num **trans;            /* Transition tables for states that can\n", """  struct dfa_row *rows;         /* Where known transitions lead, of the
                                   first DFA_ROWS states, or NULL.  */
  state_num **trans;            /* Transition tables for states that can
""", "keeps rows")
before("lib/dfa.c", "/* A compiled regular expression.  */\nstruct dfa\n", """enum { DFA_ROWS = 512 };
struct dfa_row
{
  struct dfa_row *next[NOTCHAR];
};

""", "says what a row is")
replace("lib/dfa.c", "      trans[d->syntax.eolbyte] = -1;\n    }\n\n  return trans[uc];\n", """      trans[d->syntax.eolbyte] = -1;
    }

  if (d->rows && s < DFA_ROWS && !accepting (s, d))
    for (int i = 0; i < NOTCHAR; i++)
      if (0 <= trans[i] && trans[i] < DFA_ROWS)
        d->rows[s].next[i] = &d->rows[trans[i]];

  return trans[uc];
""", "fills the row of a state")
replace("lib/dfa.c", "      d->sindex = d->min_trcount;\n\n      if (d->trans)\n", """      d->sindex = d->min_trcount;
      if (d->rows)
        memset (d->rows, 0, DFA_ROWS * sizeof *d->rows);

      if (d->trans)
""", "forgets the rows of states that are no more")
replace("lib/dfa.c", "    realloc_trans_if_necessary (d);\n\n  /* Current state.  */\n", """    {
      realloc_trans_if_necessary (d);
      if (!multibyte)
        d->rows = calloc (DFA_ROWS, sizeof *d->rows);
    }

  /* Current state.  */
""", "makes the rows")
before("lib/dfa.c", "/* Search through a buffer looking for a match to the struct dfa *D.\n", """/* Follows known transitions from the state of ROW; the state that is come to, and the letters from *PP on that led to it.  */
static struct dfa_row const * __attribute__ ((noinline))
follow_rows (struct dfa_row const *row, bool initial, unsigned char const **pp)
{
  unsigned char const *p = *pp;
  struct dfa_row const *next;
  for (;;)
    {
      if (initial)
        for (;;)
          {
#pragma clang loop unroll(full)
            for (int step = 0; step < 16; step++)
              if (row->next[p[step]] != row)
                {
                  p += step;
                  goto leaves;
                }
            p += 16;
          }
    leaves:
#pragma clang loop unroll(full)
      for (int step = 0; step < 16; step++)
        {
          if (! (next = row->next[p[step]]))
            {
              *pp = p + step;
              return row;
            }
          row = next;
        }
      p += 16;
      initial = false;
    }
}

""", "follows the rows")
replace("lib/dfa.c", "      state_num *t;\n      while ((t = trans[s]) != NULL)\n", """      state_num *t;
      if (!multibyte && d->rows && 0 <= s && s < DFA_ROWS)
        s = follow_rows (&d->rows[s], s < d->min_trcount, &p) - d->rows;
      while ((t = trans[s]) != NULL)
""", "follows the rows")
replace("lib/dfa.c", "  sup->trans = NULL;\n", "  sup->trans = NULL;\n  sup->rows = NULL;\n", "gives another automaton rows of its own")
replace("lib/dfa.c", "      free (d->trans - 2);\n", "      free (d->trans - 2);\n      free (d->rows);\n", "frees the rows")
