"""What bash does each time that it starts, in less time: a shell that says one word spends a quarter of its life on it.

These lines are under bash's licence (GPL-3.0-or-later).
"""

from edits import before, replace

before("locale.c", "  for (x = 0; x < sh_syntabsiz; x++)\n", "  return;\n",
       "leaves the table of syntax as it is built: blanks are the same in all locales of this C library")

WHY = "sorts a table that is nearly in order: qsort calls a function for each comparison, and makes many more of them"
replace("builtins/common.c", """  qsort (shell_builtins, num_shell_builtins, sizeof (struct builtin),
    (QSFUNC *)shell_builtin_compare);
""", """  int i, at;
  struct builtin one;

  for (i = 1; i < num_shell_builtins; i++)
    {
      one = shell_builtins[i];
      for (at = i; at > 0 && shell_builtin_compare (&one, &shell_builtins[at - 1]) < 0; at--)
	shell_builtins[at] = shell_builtins[at - 1];
      shell_builtins[at] = one;
    }
""", WHY)

WHY = "writes the names of thirty signals without printf"
before("support/signames.c", "initialize_signames ()\n{\n", """name_signal (to, prefix, number)
     char *to;
     char *prefix;
     int number;
{
  strcpy (to, prefix);
  to += strlen (to);
  if (number >= 10)
    *to++ = '0' + number / 10;
  *to++ = '0' + number % 10;
  *to = '\\0';
}

void
""", WHY)
for name, sign in (("MIN", "+"), ("MAX", "-")):
    at = f"signal_names[rt{name.lower()}{sign}i]"
    replace("support/signames.c", f'    sprintf ({at}, "SIGRT{name}{sign}%d", i);\n', f'    name_signal ({at}, "SIGRT{name}{sign}", i);\n', WHY)
