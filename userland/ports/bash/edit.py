"""GNU bash on cloche_clone.

A clone starts in a function of its own instead of coming back from fork a second time. Each place that calls make_child
becomes re-enterable: what the child needs of its locals is kept in a struct on the parent's stack (which the clone has a
copy of), and the child's function calls the same bash function again, which jumps to where fork would have returned.

These lines are under bash's licence (GPL-3.0-or-later).
"""

from edits import after, before, replace

# --- jobs.c: make_child ---------------------------------------------------------------------------------------------------
WHY = "makes children by cloche_clone"

after("jobs.h", "extern pid_t make_child PARAMS((char *, int));\n", """
/* Makes a child that runs FN(ARG) and exits with its result.  Returns the child's
   pid in the parent; returns 0 only where FN asks for it, see start_child. */
extern pid_t make_child_fn PARAMS((char *, int, int (*) (void *), void *));
""", WHY)
after("jobs.h", "extern pid_t make_child_fn PARAMS((char *, int, int (*) (void *), void *));\n", "extern int in_subshell_function;\n", WHY)
after("jobs.c", '#include "jobs.h"\n', "#include <cloche.h>\n", WHY)
replace("jobs.c", "pid_t\nmake_child (command, flags)\n     char *command;\n     int flags;\n{\n", """struct child_start {
  int flags;
  int (*fn) (void *);
  void *arg;
};

/* Not null in a new child, until make_child_fn has set it up. */
static struct child_start *child_resume;

/* In a clone: its first frame, and a place in that to jump to.  A jump buffer begins with an address in the frame that it leads to. */
static char *clone_frame;
static procenv_t clone_top_level;

/* Set in clones whose functions catch jumps to the top level themselves, and in all that they start. */
int in_subshell_function;

/* What unwinding brings back may lead to a frame that only the parent has. */
void
keep_top_level_in_clone ()
{
  if (clone_frame && *(char **)&top_level > clone_frame)
    COPY_PROCENV (clone_top_level, top_level);
}

/* The frames above this one are not in a clone, so jumps to the top level and returns from a function end here. */
static int
start_child (p)
     void *p;
{
  struct child_start start = *(struct child_start *)p;
  int code;

  clone_frame = (char *)&start;
  code = setjmp_nosigs (top_level);
  COPY_PROCENV (top_level, clone_top_level);
  if (code)
    {
      /* As run_one_command says it. */
      if (code == DISCARD)
	last_command_exit_value = EXECUTION_FAILURE;
      else if (code == FORCE_EOF && command_execution_string && in_subshell_function == 0)
	last_command_exit_value = 127;
      exit_shell (last_command_exit_value);
    }
  if (return_catch_flag && setjmp_nosigs (return_catch))
    exit_shell (return_catch_value);
  child_resume = &start;
  make_child_fn ((char *)NULL, start.flags, start.fn, start.arg);
  exit_shell ((*start.fn) (start.arg));
  return 0;
}

pid_t
make_child_fn (command, flags, fn, arg)
     char *command;
     int flags;
     int (*fn) (void *);
     void *arg;
{
  struct child_start start = { flags, fn, arg };
""", WHY)
before("jobs.c", "  sigemptyset (&oset_copy);\n  sigprocmask (SIG_BLOCK, (sigset_t *)NULL, &oset_copy);\n", """  if (child_resume)
    {
      child_resume = 0;
      async_p = (flags & FORK_ASYNC);
      pid = 0;
      goto forked;
    }

""", WHY)
replace("jobs.c", "  while ((pid = fork ()) < 0 && errno == EAGAIN", "  while ((pid = cloche_clone (start_child, &start)) < 0 && errno == EAGAIN",
        WHY)
before("jobs.c", "  if (pid == 0)\n    {\n      /* In the child.  Give this child the right process group, set the\n", "forked:\n", WHY)

replace("sig.c", "  sh_longjmp (top_level, value);\n",
        "  extern void keep_top_level_in_clone PARAMS((void));\n  keep_top_level_in_clone ();\n  sh_longjmp (top_level, value);\n", WHY)
# The slot before the array happens to be empty where bash is usually built.
replace("builtins/jobs.def", "jobs == 0 || get_job_by_jid (job) == 0)", "jobs == 0 || INVALID_JOB (job))",
        "does not look in front of the jobs for one of an ambiguous name")

# --- Ctrl-C and hang-up while a job of an interactive shell starts --------------------------------------------------------
WHY = "loses no signal while a job starts: what reaches the shell before the job has the terminal, or the child before it has its signals"
before("jobs.c", "	  CHECK_WAIT_INTR;\n	  r = waitchld (pid, 1);	/* XXX */\n", """	  if (interrupt_state && interactive_shell && job_control && job != NO_JOB
	      && IS_FOREGROUND (job) && IS_JOBCONTROL (job) && jobs[job]->pgrp != shell_pgrp)
	    {
	      CLRINTERRUPT;
	      killpg (jobs[job]->pgrp, SIGINT);
	    }
""", WHY)
replace("execute_cmd.c", "      restore_original_signals ();\n      subshell_environment &= ~SUBSHELL_IGNTRAP;\n", """      restore_original_signals ();
      if (LASTSIG ())
	{
	  int caught = LASTSIG ();
	  terminating_signal = 0;
	  CLRINTERRUPT;
	  kill (getpid (), caught);
	}
      subshell_environment &= ~SUBSHELL_IGNTRAP;
""", WHY)
# A shell that went back to its prompt here would lose the terminal to the child that has yet to take it, and read an end of file.
replace("execute_cmd.c", "parent_return:\n      QUIT;\n", """parent_return:
      if (interactive_shell == 0 || job_control == 0 || async)
	QUIT;
""", WHY)

# --- execute_cmd.c: ( list ), and compound commands in pipes and in the background ----------------------------------------
WHY = "runs a subshell in a clone"
before("execute_cmd.c", "/* Execute the command passed in COMMAND, perhaps doing it asynchronously.\n", """struct command_fork {
  COMMAND *command;
  int asynchronous, pipe_in, pipe_out;
  struct fd_bitmap *fds_to_close;
  int user_subshell;
  char *p;
};
static struct command_fork *command_resume;

static int
command_child (v)
     void *v;
{
  struct command_fork *f = command_resume = v;
  in_subshell_function = 1;
  return (execute_command_internal (f->command, f->asynchronous, f->pipe_in, f->pipe_out, f->fds_to_close));
}

""", WHY)
before("execute_cmd.c", "  if (breaking || continuing)\n    return (last_command_exit_value);\n  if (read_but_dont_execute)\n", """  struct command_fork *forked = command_resume;
  if (forked)
    {
      command_resume = 0;
      user_subshell = forked->user_subshell;
      goto in_child;
    }

""", WHY)
replace("execute_cmd.c", "      paren_pid = make_child (p = savestring (tcmd), fork_flags);\n", """      p = savestring (tcmd);
      paren_pid = make_child_fn (p, fork_flags, command_child, &(struct command_fork) {
	command, asynchronous, pipe_in, pipe_out, fds_to_close, user_subshell, p });
      if (0)
	{
in_child:
	  paren_pid = 0;
	  p = forked->p;
	}
""", WHY)

# --- execute_cmd.c: coproc ------------------------------------------------------------------------------------------------
WHY = "runs a coprocess in a clone"
before("execute_cmd.c", "static int\nexecute_coproc (command, pipe_in, pipe_out, fds_to_close)\n     COMMAND *command;\n", """struct coproc_fork {
  COMMAND *command;
  int pipe_in, pipe_out;
  struct fd_bitmap *fds_to_close;
  int *rpipe, *wpipe;
  sigset_t *oset;
  char *p;
};
static struct coproc_fork *coproc_resume;
static int execute_coproc PARAMS((COMMAND *, int, int, struct fd_bitmap *));

static int
coproc_child (v)
     void *v;
{
  struct coproc_fork *f = coproc_resume = v;
  in_subshell_function = 1;
  return (execute_coproc (f->command, f->pipe_in, f->pipe_out, f->fds_to_close));
}

""", WHY)
before("execute_cmd.c", "  /* XXX -- can be removed after changes to handle multiple coprocs */\n#if !MULTIPLE_COPROCS\n  if (sh_coproc.c_pid != NO_PID && (sh_coproc.c_rfd", """  struct coproc_fork *forked = coproc_resume;
  if (forked)
    {
      coproc_resume = 0;
      goto in_child;
    }

""", WHY)
replace("execute_cmd.c", "  coproc_pid = make_child (p = savestring (tcmd), FORK_ASYNC);\n", """  p = savestring (tcmd);
  coproc_pid = make_child_fn (p, FORK_ASYNC, coproc_child, &(struct coproc_fork) {
    command, pipe_in, pipe_out, fds_to_close, rpipe, wpipe, &oset, p });
  if (0)
    {
in_child:
      coproc_pid = 0;
      rpipe[0] = forked->rpipe[0], rpipe[1] = forked->rpipe[1];
      wpipe[0] = forked->wpipe[0], wpipe[1] = forked->wpipe[1];
      oset = *forked->oset;
      p = forked->p;
    }
""", WHY)

# --- execute_cmd.c: redirections without a command ------------------------------------------------------------------------
WHY = "runs a null command in a clone"
before("execute_cmd.c", "/* Execute a null command.  Fork a subshell if the command uses pipes or is\n", """struct null_fork {
  REDIRECT *redirects;
  int pipe_in, pipe_out, async;
};
static struct null_fork *null_resume;
static int execute_null_command PARAMS((REDIRECT *, int, int, int));

static int
null_child (v)
     void *v;
{
  struct null_fork *f = null_resume = v;
  return (execute_null_command (f->redirects, f->pipe_in, f->pipe_out, f->async));
}

""", WHY)
before("execute_cmd.c", "  for (forcefork = 0, rd = redirects; rd; rd = rd->next)\n", """  if (null_resume)
    {
      null_resume = 0;
      goto in_child;
    }

""", WHY)
replace("execute_cmd.c", "      if (make_child ((char *)NULL, fork_flags) == 0)\n\t{\n", """      if (make_child_fn ((char *)NULL, fork_flags, null_child,
			 &(struct null_fork) { redirects, pipe_in, pipe_out, async }) == 0)
	{
in_child:
""", WHY)

# --- execute_cmd.c: simple commands in pipes and in the background --------------------------------------------------------
WHY = "runs a simple command in a clone"
before("execute_cmd.c", "/* The meaty part of all the executions.  We have to start hacking the\n", """struct simple_fork {
  SIMPLE_COM *simple_command;
  int pipe_in, pipe_out, async;
  struct fd_bitmap *fds_to_close;
  pid_t old_last_async_pid;
  char *p;
};
static struct simple_fork *simple_resume;
static int execute_simple_command PARAMS((SIMPLE_COM *, int, int, int, struct fd_bitmap *));

static int
simple_child (v)
     void *v;
{
  struct simple_fork *f = simple_resume = v;
  return (execute_simple_command (f->simple_command, f->pipe_in, f->pipe_out, f->async, f->fds_to_close));
}

""", WHY)
before("execute_cmd.c", "  /* If we're in a function, update the line number information. */\n  if (variable_context && interactive_shell && sourcelevel == 0)\n    {\n      /* line numbers in a function start at 1 */\n      line_number -= function_line_number - 1;\n      if (line_number <= 0)\n\tline_number = 1;\n    }\n\n  /* Remember what this command line looks like at invocation. */\n  command_string_index = 0;\n  print_simple_command (simple_command);\n\n#if 0\n", """  struct simple_fork *forked = simple_resume;
  if (forked)
    {
      simple_resume = 0;
      cmdflags = simple_command->flags;
      first_word_quoted =
	simple_command->words ? (simple_command->words->word->flags & W_QUOTED) : 0;
      old_last_async_pid = forked->old_last_async_pid;
      goto in_child;
    }

""", WHY)
replace("execute_cmd.c", "      if (make_child (p = savestring (the_printed_command_except_trap), fork_flags) == 0)\n\t{\n", """      p = savestring (the_printed_command_except_trap);
      if (make_child_fn (p, fork_flags, simple_child, &(struct simple_fork) {
	    simple_command, pipe_in, pipe_out, async, fds_to_close, old_last_async_pid, p }) == 0)
	{
in_child:
	  if (forked)
	    p = forked->p;
""", WHY)

# --- execute_cmd.c: programs ----------------------------------------------------------------------------------------------
WHY = "starts a program in a clone"
before("execute_cmd.c", "/* Execute a simple command that is hopefully defined in a disk file\n   somewhere.\n", """struct disk_fork {
  WORD_LIST *words;
  REDIRECT *redirects;
  char *command_line;
  int pipe_in, pipe_out, async;
  struct fd_bitmap *fds_to_close;
  int cmdflags;
  char *command, *p;
};
static struct disk_fork *disk_resume;
static int execute_disk_command PARAMS((WORD_LIST *, REDIRECT *, char *, int, int, int, struct fd_bitmap *, int));

static int
disk_child (v)
     void *v;
{
  struct disk_fork *f = disk_resume = v;
  return (execute_disk_command (f->words, f->redirects, f->command_line, f->pipe_in, f->pipe_out, f->async,
				f->fds_to_close, f->cmdflags));
}

""", WHY)
after("execute_cmd.c", "  nofork = (cmdflags & CMD_NO_FORK);	/* Don't fork, just exec, if no pipes */\n  pathname = words->word->word;\n", """
  struct disk_fork *forked = disk_resume;
  if (forked)
    {
      disk_resume = 0;
      command = forked->command;
      p = forked->p;
      result = EXECUTION_SUCCESS;
      pid = 0;
      goto in_child;
    }
""", WHY)
replace("execute_cmd.c", "      pid = make_child (p = savestring (command_line), fork_flags);\n    }\n\n", """      p = savestring (command_line);
      pid = make_child_fn (p, fork_flags, disk_child, &(struct disk_fork) {
	words, redirects, command_line, pipe_in, pipe_out, async, fds_to_close, cmdflags, command, p });
    }

in_child:
""", WHY)
# The frame of main, to which bash jumps to run a script without #! in this process, is not in a clone.
replace("execute_cmd.c", "  sh_longjmp (subshell_top_level, 1);\n", """  execve ("/proc/self/exe", args, env);
  file_error (command);
  exit (EX_NOEXEC);
""", "runs a script without #! by a new bash")

# --- subst.c: <( ) and >( ) -----------------------------------------------------------------------------------------------
WHY = "runs a process substitution in a clone"
before("subst.c", "static char *\nprocess_substitute (string, open_for_read_in_child)\n     char *string;\n", """struct procsub_fork {
  char *string;
  int open_for_read_in_child;
  char *pathname;
  int parent_pipe_fd, child_pipe_fd;
  pid_t old_pid, old_pipeline_pgrp;
};
static struct procsub_fork *procsub_resume;
static char *process_substitute PARAMS((char *, int));

static int
procsub_child (v)
     void *v;
{
  struct procsub_fork *f = procsub_resume = v;
  in_subshell_function = 1;
  process_substitute (f->string, f->open_for_read_in_child);
  return (EXECUTION_FAILURE);
}

""", WHY)
before("subst.c", "  if (!string || !*string || wordexp_only)\n    return ((char *)NULL);\n\n#if !defined (HAVE_DEV_FD)\n", """  struct procsub_fork *forked = procsub_resume;
  if (forked)
    {
      procsub_resume = 0;
      pathname = forked->pathname;
      parent_pipe_fd = forked->parent_pipe_fd;
      child_pipe_fd = forked->child_pipe_fd;
      old_pid = forked->old_pid;
      old_pipeline_pgrp = forked->old_pipeline_pgrp;
      pid = 0;
      goto in_child;
    }

""", WHY)
replace("subst.c", "  pid = make_child ((char *)NULL, FORK_ASYNC);\n  if (pid == 0)\n", """  pid = make_child_fn ((char *)NULL, FORK_ASYNC, procsub_child, &(struct procsub_fork) {
    string, open_for_read_in_child, pathname, parent_pipe_fd, child_pipe_fd, old_pid, old_pipeline_pgrp });
in_child:
  if (pid == 0)
""", WHY)

# --- subst.c: $( ) --------------------------------------------------------------------------------------------------------
WHY = "runs a command substitution in a clone"
before("subst.c", "/* Perform command substitution on STRING.  This returns a WORD_DESC * with the\n", """struct comsub_fork {
  char *string;
  int quoted, flags, pflags;
  int *fildes;
  pid_t old_pid, old_pipeline_pgrp, old_async_pid;
};
static struct comsub_fork *comsub_resume;

static int
comsub_child (v)
     void *v;
{
  struct comsub_fork *f = comsub_resume = v;
  in_subshell_function = 1;
  command_substitute (f->string, f->quoted, f->flags);
  return (EXECUTION_FAILURE);
}

""", WHY)
before("subst.c", "  istring = (char *)NULL;\n\n  /* Don't fork () if there is no need to.  In the case of no command to\n", """  struct comsub_fork *forked = comsub_resume;
  if (forked)
    {
      comsub_resume = 0;
      istring = (char *)NULL;
      pflags = forked->pflags;
      fildes[0] = forked->fildes[0], fildes[1] = forked->fildes[1];
      old_pid = forked->old_pid;
      old_pipeline_pgrp = forked->old_pipeline_pgrp;
      old_async_pid = forked->old_async_pid;
      pid = 0;
      goto in_child;
    }

""", WHY)
replace("subst.c", "  pid = make_child ((char *)NULL, fork_flags|FORK_NOTERM);\n", """  pid = make_child_fn ((char *)NULL, fork_flags|FORK_NOTERM, comsub_child, &(struct comsub_fork) {
    string, quoted, flags, pflags, fildes, old_pid, old_pipeline_pgrp, old_async_pid });
in_child:
""", WHY)

# --- unwind_prot: cleanups of three types behind one pointer --------------------------------------------------------------
# A call by another type than the function's own is a trap here. Most cleanups are void (pointer); these are the others. The
# names are compared when bash is compiled.
WHY = "calls each cleanup by its own type"
VOID_NONE = ("bashline_reset_event_hook", "maybe_pop_dollar_vars", "merge_temporary_env", "parser_restore_alias", "pop_args",
             "pop_context", "pop_stream", "reset_locals", "reset_timeout", "set_history_remembering", "set_verbose_flag")
INT_ARG = ("close", "restore_signal_mask", "unlink")


def any_of(names):
    return " || ".join(f'__builtin_strcmp (#F, "{name}") == 0' for name in names)


replace("unwind_prot.h", "extern void add_unwind_protect (); /* Not portable to arbitrary C99 hosts.  */\n", f"""extern void add_unwind_protect_kind PARAMS((Function *, char *, int));
#define UWP_VOID_ARG 0
#define UWP_VOID_NONE 1
#define UWP_INT_ARG 2
#define UWP_KIND(F) ({any_of(VOID_NONE)} ? UWP_VOID_NONE : {any_of(INT_ARG)} ? UWP_INT_ARG : UWP_VOID_ARG)
#define add_unwind_protect(F, A) add_unwind_protect_kind ((Function *)(F), (char *)(uintptr_t)(A), UWP_KIND (F))
""", WHY)
after("unwind_prot.c", "    union uwp *next;\n    Function *cleanup;\n", "    int kind;\n", WHY)
replace("unwind_prot.c", "void\nadd_unwind_protect (cleanup, arg)\n     Function *cleanup;\n     char *arg;\n{\n", """void
add_unwind_protect_kind (cleanup, arg, kind)
     Function *cleanup;
     char *arg;
     int kind;
{
""", WHY)
after("unwind_prot.c", "  without_interrupts (add_unwind_protect_internal, (char *)cleanup, arg);\n",
      "  unwind_protect_list->head.kind = kind;\n", WHY)
replace("unwind_prot.c", "	    (*(elt->head.cleanup)) (elt->arg.v);\n", """	    switch (elt->head.kind)
	      {
	      case UWP_VOID_ARG: (*(void (*) (char *))elt->head.cleanup) (elt->arg.v); break;
	      case UWP_VOID_NONE: (*(void (*) (void))elt->head.cleanup) (); break;
	      case UWP_INT_ARG: (*(int (*) (char *))elt->head.cleanup) (elt->arg.v); break;
	      }
""", WHY)
# A cast would be part of the name.
replace("builtins/source.def", "add_unwind_protect ((Function *)maybe_pop_dollar_vars, ",
        "add_unwind_protect (maybe_pop_dollar_vars, ", WHY)

# --- setlinebuf: musl gives stderr no buffer of its own -------------------------------------------------------------------
WHY = "writes a line of stderr by one call, so that lines of two processes do not mix"
replace("lib/sh/setlinebuf.c", "#if defined (USING_BASH_MALLOC)\n  if (stream == stdout", "#if 1\n  if (stream == stdout", WHY)
replace("lib/sh/setlinebuf.c", "#  define LBUF_BUFSIZE	BUFSIZ\n", "#  define LBUF_BUFSIZE	4096\n", WHY)

# --- long strings: musl has no realloc that moves nothing ------------------------------------------------------------------
replace("general.h", "\twhile ((cind) + (room) >= csize) \\\n\t  csize += (sincr); \\\n", "\twhile ((cind) + (room) >= csize) \\\n\t  csize += (sincr) + csize / 4; \\\n",
        "grows a buffer by a share of its size: the output of a command would be copied once for each page of it")

# --- what scripts compare with a machine of today: numbers of signals, digits of numbers -----------------------------------
# musl keeps signal 34 for threads, of which there are none here.
WHY = "counts real-time signals from 34, as everywhere on Linux"
replace("support/signames.c", "  rtmin = SIGRTMIN;\n", "  rtmin = 34;\n", WHY)
after("trap.c", '#include "trap.h"\n', "\n#undef SIGRTMIN\n#define SIGRTMIN 34\n", WHY)
replace("jobs.c", "  x = strsignal (s);\n  if (x == 0)\n", """  x = strsignal (s);
  if (s >= 34)
    {
      x = retcode_name_buffer;
      snprintf (x, sizeof(retcode_name_buffer), _("Real-time signal %d"), s - 34);
    }
  else if (x == 0)
""", WHY)
after("sig.c", '#include "trap.h"\n', """
#include <sys/syscall.h>

/* sigaction, for the signal too that the C library takes for its own. */
static int
any_sigaction (sig, act, oact)
     int sig;
     const struct sigaction *act;
     struct sigaction *oact;
{
  struct { void (*handler) (int); unsigned long flags; unsigned int mask[2]; } new = { 0 }, old = { 0 };

  if (sig != 34)
    return (sigaction (sig, act, oact));
  new.handler = act->sa_handler;
  new.flags = act->sa_flags;
  if (syscall (SYS_rt_sigaction, sig, &new, &old, sizeof (new.mask)) < 0)
    return (-1);
  oact->sa_handler = old.handler;
  oact->sa_flags = old.flags;
  return (0);
}
""", WHY)
replace("sig.c", "  if (sigaction (sig, &act, &oact) == 0)\n", "  if (any_sigaction (sig, &act, &oact) == 0)\n", WHY)

WHY = "rounds what %f prints as on x86, whose long double has 64 bits of fraction: %.2f of 2.675 hangs on it"
before("builtins/printf.def", "static floatmax_t\ngetfloatmax ()\n{\n", """/* The nearest number with 64 bits of fraction, of the 113 that a long double has here; ties to even. */
static floatmax_t
of_64_bits (v)
     floatmax_t v;
{
  union { floatmax_t value; unsigned long long half[2]; } u = { v };
  const unsigned long long dropped = (1ULL << 49) - 1;
  unsigned long long sum;

  if ((u.half[1] >> 48 & 0x7fff) == 0x7fff)
    return (v);
  sum = u.half[0] + (dropped >> 1) + (u.half[0] >> 49 & 1);
  u.half[1] += sum < u.half[0];
  u.half[0] = sum & ~dropped;
  return (u.value);
}

""", WHY)
replace("builtins/printf.def", "  ret = strtofltmax (garglist->word->word, &ep);\n",
        "  ret = of_64_bits (strtofltmax (garglist->word->word, &ep));\n", WHY)

# --- ß: Unicode has a capital for it, which no other C library turns it into -----------------------------------------------
replace("lib/sh/casemod.c", "#define _to_wupper(wc)	(iswlower (wc) ? ", "#define _to_wupper(wc)	(iswlower (wc) && (wc) != 0xdf ? ",
        "leaves the sharp s as it is, as native bash does")

# --- characters that a locale has not ---------------------------------------------------------------------------------------
replace("lib/sh/unicode.c", "&sn, &optr, &obytesleft) == (size_t)-1)\n", "&sn, &optr, &obytesleft) != 0)\n",
        "writes \\u00E9 in the C locale: musl's iconv puts a star there, and counts it")

# --- the shell that a sandbox keeps ---------------------------------------------------------------------------------------
import edit_kept  # noqa: E402, F401
import edit_start  # noqa: E402, F401
