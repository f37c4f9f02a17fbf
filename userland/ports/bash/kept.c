/* The shell that a sandbox keeps: bash as a library that runs one script after the other.

   The host calls cloche_shell_start once, or, in a copy of a started shell's memory, cloche_shell_begin where that has
   run nothing and cloche_shell_resume where it goes on, then cloche_shell_turn for each script.  Between these calls no
   function is in progress: all of the shell is its memory.
   Included at the end of shell.c, whose static functions start the shell.

   These lines are under bash's licence (GPL-3.0-or-later). */

#include <sys/syscall.h>

#define EXPORT(NAME) __attribute__ ((export_name (NAME)))
#define STARTUP_SIZE 0x1000
#define STARTUP_COPY 0x1001

/* The result of a turn: the exit status, and what else the host wants to know. */
#define TURN_EXITED 0x100	/* by exit, set -e or an error that ends a shell */
#define TURN_CHANGED 0x200	/* by the script: the shell is worth a new image */

extern void __init_libc (char **, char *);
extern void __libc_start_init (void);

/* A variable of this turn only, and what it stands in front of. */
struct kept_variable {
  struct kept_variable *next;
  char *name;
  BUCKET_CONTENTS *hidden;
};

static procenv_t kept_end;
static int kept_catching;	/* pid of the kept shell while kept_end can be jumped to */
static char *kept_no_environment[1];

/* Takes the place of the end of the process while the kept shell itself runs a script; returns otherwise. */
static void
kept_exit (s)
     int s;
{
  if (kept_catching == 0 || subshell_environment || kept_catching != getpid ())
    return;
  last_command_exit_value = s;
  sh_longjmp (kept_end, 1);
}

/* The next word of the host's frame. */
static char *
kept_next (at)
     char **at;
{
  char *word = *at;

  *at += strlen (word) + 1;
  return (word);
}

static int
kept_count (at)
     char **at;
{
  return (atoi (kept_next (at)));
}

static void
kept_export (name, value)
     char *name, *value;
{
  SHELL_VAR *v;

  if (legal_identifier (name) == 0)
    return;
  v = bind_global_variable (name, value, ASS_FORCE);
  if (v == 0)
    return;
  VSETATTR (v, att_exported);
  array_needs_making = 1;
  stupidly_hack_special_variables (name);
}

/* NAME=VALUE for good. */
static void
kept_set (assignment)
     char *assignment;
{
  char *value;

  value = strchr (assignment, '=');
  if (value == 0)
    return;
  *value++ = '\0';
  kept_export (assignment, value);
}

/* NAME=VALUE until kept_reveal; NAME alone is hidden and not set. */
static struct kept_variable *
kept_hide (assignment, next)
     char *assignment;
     struct kept_variable *next;
{
  struct kept_variable *v;
  char *value;

  value = strchr (assignment, '=');
  if (value)
    *value++ = '\0';
  if (legal_identifier (assignment) == 0)
    return (next);
  v = (struct kept_variable *)xmalloc (sizeof (struct kept_variable));
  v->next = next;
  v->name = savestring (assignment);
  v->hidden = hash_remove (assignment, global_variables->table, 0);
  if (value)
    kept_export (assignment, value);
  return (v);
}

static void
kept_reveal (v)
     struct kept_variable *v;
{
  struct kept_variable *next;
  BUCKET_CONTENTS *now;
  SHELL_VAR *hidden;

  for (; v; v = next)
    {
      next = v->next;
      now = hash_remove (v->name, global_variables->table, 0);
      if (now)
	{
	  dispose_variable ((SHELL_VAR *)now->data);
	  free (now->key);
	  free (now);
	}
      if (v->hidden)
	{
	  hidden = (SHELL_VAR *)v->hidden->data;
	  now = hash_insert (v->hidden->key, global_variables->table, HASH_NOSRCH);
	  now->data = hidden;
	  free (v->hidden);
	}
      array_needs_making = 1;
      stupidly_hack_special_variables (v->name);
      free (v->name);
      free (v);
    }
}

/* As cd does it; false with a message. */
static int
kept_cd (path)
     char *path;
{
  WORD_LIST *words;
  int failed;

  words = make_word_list (make_word (path), (WORD_LIST *)NULL);
  words = make_word_list (make_word ("--"), words);
  this_command_name = "cd";
  failed = cd_builtin (words);
  dispose_words (words);
  return (failed == EXECUTION_SUCCESS);
}

/* As after a command of an interactive shell that was interrupted: nothing of the script is in progress any more. */
static void
kept_clean_up ()
{
  top_level_cleanup ();
  reset_local_contexts ();
  if (temporary_env)
    dispose_used_env_vars ();
  reset_parser ();
  sourcelevel = evalnest = sourcenest = 0;
  subshell_level = 0;
  executing = executing_builtin = 0;
  stdin_redir = 0;
  this_command_name = (char *)NULL;
  restore_sigmask ();
  fflush (stdout);
  fflush (stderr);
  clearerr (stdin);
  clearerr (stdout);
  clearerr (stderr);
}

/* Runs the script to its end; true where the shell would have ended with it. */
static int
kept_run (script)
     char *script;
{
  int code;

  if (setjmp_nosigs (kept_end))
    {
      kept_catching = 0;
      initialize_signals (1);
      return (1);
    }
  kept_catching = getpid ();
  code = setjmp_nosigs (top_level);
  if (code == NOT_JUMPED)
    {
      parse_and_execute (script, "-c", SEVAL_NOHIST|SEVAL_RESETLINE);
      kept_catching = 0;
      return (0);
    }
  kept_catching = 0;
  if (code == FORCE_EOF)
    last_command_exit_value = 127;
  else if (code == DISCARD)
    {
      if (last_command_exit_value == 0)
	last_command_exit_value = EXECUTION_FAILURE;
      return (0);
    }
  return (1);
}

static void
kept_run_exit_trap ()
{
  if (signal_is_trapped (EXIT_TRAP) == 0)
    return;
  if (setjmp_nosigs (kept_end) == 0)
    {
      kept_catching = getpid ();
      last_command_exit_value = run_exit_trap ();
    }
  kept_catching = 0;
  kept_clean_up ();
  run_trap_cleanup (EXIT_TRAP);	/* bash leaves it in progress, as it ends then */
  running_trap = 0;
  restore_default_signal (EXIT_TRAP);
  kept_changed = 1;
}

EXPORT ("cloche_shell_buffer") char *
cloche_shell_buffer (size)
     unsigned int size;
{
  return ((char *)xmalloc (size));
}

EXPORT ("cloche_shell_start") int
cloche_shell_start ()
{
  static long block[1024];
  char **argv;

  if (syscall (STARTUP_SIZE) > (long)sizeof (block) || syscall (STARTUP_COPY, block, sizeof (block)) < 0)
    __builtin_trap ();
  argv = (char **)(block + 1);
  __init_libc (argv + block[0] + 1, argv[0]);
  __libc_start_init ();

  if (setjmp_nosigs (top_level))
    return (EXECUTION_FAILURE);
  xtrace_init ();
  set_default_locale ();
  running_setuid = uidget ();
  default_input = stdin;
  default_buffered_input = -1;
  shell_environment = kept_no_environment;
  set_shell_name ("bash");
  gettimeofday (&shellstart, 0);
  shell_start_time = shellstart.tv_sec;
  want_pending_command = 1;
  init_noninteractive ();
  shell_initialize ();
  set_default_lang ();
  set_default_locale_vars ();
  unbind_variable ("PS1");
  unbind_variable ("PS2");
  cmd_init ();
  uwp_init ();
  shell_initialized = 1;
  return (EXECUTION_SUCCESS);
}

/* In another process than the one that this memory was: no child of that one is a child of this one. */
EXPORT ("cloche_shell_resume") int
cloche_shell_resume ()
{
  delete_all_jobs (0);
  last_made_pid = last_asynchronous_pid = NO_PID;
  dollar_dollar_pid = getpid ();
  shell_pgrp = original_pgrp = pipeline_pgrp = getpgid (0);
  set_ppid ();
  seedrand ();
  seedrand32 ();
  initialize_signals (1);
  return (EXECUTION_SUCCESS);
}

/* The same, of a shell that had started there and run nothing: as if it started here and now. */
EXPORT ("cloche_shell_begin") int
cloche_shell_begin ()
{
  gettimeofday (&shellstart, 0);
  shell_start_time = shellstart.tv_sec;
  return (cloche_shell_resume ());
}

/* FRAME, from cloche_shell_buffer, has strings one after the other, each with its 0: the directory of this turn, or
   nothing; the number of arguments ($0 ...) and these; the number of variables to set and these (NAME=VALUE); the
   number of variables of this turn and these; the script. */
EXPORT ("cloche_shell_turn") int
cloche_shell_turn (frame)
     char *frame;
{
  char *at, *directory, *before, *script, *name, **arguments;
  char oldpwd[] = "OLDPWD";
  struct kept_variable *variables;
  int count, i, exited, changed, status;

  at = frame;
  directory = kept_next (&at);
  count = kept_count (&at);
  arguments = strvec_create (count + 1);
  for (i = 0; i < count; i++)
    arguments[i] = kept_next (&at);
  arguments[count] = (char *)NULL;
  for (i = kept_count (&at); i > 0; i--)
    kept_set (kept_next (&at));
  variables = (struct kept_variable *)NULL;
  for (i = kept_count (&at); i > 0; i--)
    variables = kept_hide (kept_next (&at), variables);
  script = savestring (at);

  EOF_Reached = 0;
  kept_changed = 0;
  read_but_dont_execute = 0;
  /* A script sees the status of the one before it, and a DEBUG trap its own commands only. */
  before = (char *)NULL;
  if (*directory)
    {
      before = get_working_directory ("cd");
      variables = kept_hide (oldpwd, variables);
    }
  name = dollar_vars[0];
  exited = 0;
  if (*directory && kept_cd (directory) == 0)
    {
      free (script);
      last_command_exit_value = EXECUTION_FAILURE;
    }
  else
    {
      if (count)
	{
	  push_dollar_vars ();
	  dollar_vars[0] = (char *)NULL;
	  bind_args (arguments, 0, count, 0);
	}
      exited = kept_run (script);
      kept_clean_up ();
      if (exited)
	kept_run_exit_trap ();
      if (count)
	{
	  pop_dollar_vars ();
	  FREE (dollar_vars[0]);
	  dollar_vars[0] = name;
	}
    }
  status = last_command_exit_value & 0xff;
  changed = kept_changed;
  if (before)
    kept_cd (before);
  FREE (before);
  kept_reveal (variables);
  kept_clean_up ();
  free (arguments);
  free (frame);
  last_command_exit_value = status;
  return (status | (exited ? TURN_EXITED : 0) | (changed ? TURN_CHANGED : 0));
}
