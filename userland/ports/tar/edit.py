"""tar without fork. These lines are under tar's licence (GPL-3.0-or-later).

Children that only execute are vforked (build.sh calls fork vfork). The child that stands between tar and a compressor reads and
writes blocks itself: it is a clone, which enters the function again.
"""

from edits import before, replace

SYSTEM = "src/system.c"

before(SYSTEM, "/* Propagate any failure of the grandchild back to the parent.  */\n", """\
#include <cloche.h>

/* The frame of a vfork must be the caller's.  */
#define xfork() \\
  ({ pid_t p_ = vfork (); \\
     if (p_ == (pid_t) -1) call_arg_fatal ("fork", _("child process")); \\
     p_; })

/* The pipe to the parent, in a clone.  */
static int *clone_pipe;

static int
compress_clone (void *pipe)
{
  clone_pipe = pipe;
  return sys_child_open_for_compress ();
}

static int
uncompress_clone (void *pipe)
{
  clone_pipe = pipe;
  return sys_child_open_for_uncompress ();
}

static pid_t
clone_with (int (*entry) (void *), int pipe[2])
{
  if (clone_pipe)
    {
      memcpy (pipe, clone_pipe, 2 * sizeof *pipe);
      return 0;
    }
  xpipe (pipe);
  pid_t p = cloche_clone (entry, pipe);
  if (p < 0)
    call_arg_fatal ("fork", _("child process"));
  return p;
}

""", "tells how children come to be")
replace(SYSTEM, """\
  signal (SIGPIPE, SIG_IGN);
  xpipe (parent_pipe);
  child_pid = xfork ();
""", """\
  signal (SIGPIPE, SIG_IGN);
  child_pid = clone_with (compress_clone, parent_pipe);
""", "clones the child that compresses")
replace(SYSTEM, """\
  pid_t child_pid;

  xpipe (parent_pipe);
  child_pid = xfork ();
""", """\
  pid_t child_pid;

  child_pid = clone_with (uncompress_clone, parent_pipe);
""", "clones the child that uncompresses")
WHY = "takes back the name that the vforked child gave itself"
AGAIN = '  set_program_name (_("tar (child)"));\n\n'
before(SYSTEM, "  /* Prepare for reblocking the data from the compressor", AGAIN, WHY)
before(SYSTEM, "  /* Prepare for unblocking the data from the archive", AGAIN, WHY)
