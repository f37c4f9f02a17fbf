"""The shell that a sandbox keeps (kept.c), random numbers, and an end of recursion. A part of edit.py.

These lines are under bash's licence (GPL-3.0-or-later).
"""

import pathlib
import shutil

from edits import after, before, replace

# --- kept.c ---------------------------------------------------------------------------------------------------------------
WHY = "lets bash run one script after the other, see kept.c"
after("externs.h", "extern void seedrand32 PARAMS((void));\n", """
/* Set by what changes the shell: variables, functions, options ... */
extern int kept_changed;
""", WHY)
before("shell.c", "/* Exit the shell with status S. */\nvoid\nexit_shell (s)\n", "static void kept_exit PARAMS((int));\n\n", WHY)
after("shell.c", "/* Exit the shell with status S. */\nvoid\nexit_shell (s)\n     int s;\n{\n", "  kept_exit (s);\n", WHY)
shutil.copy(pathlib.Path(__file__).parent / "kept.c", "kept.c")
with open("shell.c", "a", encoding="latin-1") as shell:
    shell.write('\n#include "kept.c"\n')

WHY = "notes that the shell changes"
before("variables.c", "static SHELL_VAR *\nbind_variable_internal (name, value, table, hflags, aflags)\n", "int kept_changed;\n\n", WHY)
before("variables.c", "  entry = (hflags & HASH_NOSRCH) ? (SHELL_VAR *)NULL : hash_lookup (name, table);\n  /* Follow the nameref chain here",
       "  /* $_ is bound by every command. */\n  kept_changed |= name[0] != '_' || name[1];\n", WHY)
after("variables.c", "     const char *name;\n     COMMAND *value;\n{\n  SHELL_VAR *entry;\n\n", "  kept_changed = 1;\n", WHY)
after("subst.c", "static int\ndo_assignment_internal (word, expand)\n     const WORD_DESC *word;\n     int expand;\n{\n", "  kept_changed = 1;\n",
      WHY)
before("execute_cmd.c", "static int\nexecute_builtin (builtin, words, flags, subshell)\n", """/* True for the builtins that leave the shell as it is. */
static int
changes_nothing (builtin)
     sh_builtin_func_t *builtin;
{
  return (builtin == echo_builtin || builtin == colon_builtin || builtin == false_builtin || builtin == test_builtin
	  || builtin == printf_builtin || builtin == pwd_builtin || builtin == type_builtin
	  || builtin == eval_builtin || builtin == source_builtin || builtin == command_builtin
	  || builtin == return_builtin || builtin == break_builtin || builtin == continue_builtin
	  || builtin == exit_builtin || builtin == jobs_builtin || builtin == kill_builtin || builtin == wait_builtin);
}

""", WHY)
before("execute_cmd.c", "  /* The eval builtin calls parse_and_execute, which does not know about\n     the setting of flags, and always calls the execution functions with\n",
       "  if (changes_nothing (builtin) == 0)\n    kept_changed = 1;\n", WHY)

# --- random numbers -------------------------------------------------------------------------------------------------------
replace("lib/sh/random.c", "  gettimeofday (&tv, NULL);\n  iv = (u_bits32_t)seedrand;",
        "  if (getrandom (&iv, sizeof (iv), 0) == sizeof (iv))\n    return (iv);\n  gettimeofday (&tv, NULL);\n  iv = (u_bits32_t)seedrand;",
        "gives every shell random numbers of its own: shells of two sandboxes may start at the same time with the same pid")

# --- recursion ------------------------------------------------------------------------------------------------------------
replace("variables.c", "  if (v == 0)\n    funcnest_max = 0;\n", "  if (v == 0)\n    funcnest_max = 4000;\n",
        "ends a recursion without end by a message, and not by an exhausted stack; FUNCNEST=0 takes the limit away")
