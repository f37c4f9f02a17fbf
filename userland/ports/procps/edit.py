"""procps: watch starts the shell in place of the child.

The child of a vfork has the memory of its parent, which another program that is started from there, and an exit with its handlers, would
change. This line is under procps's licence (GPL-2.0-or-later).
"""

from edits import replace

replace("src/watch.c", """			status = system(command);	/* watch manpage promises sh quoting */
			/* propagate command exit status as child exit status */
			if (!WIFEXITED(status)) {	/* child exits nonzero if command does */
				exit(EXIT_FAILURE);
			} else {
				exit(WEXITSTATUS(status));
			}
""", """			execl("/bin/sh", "sh", "-c", command, (char *)NULL);
			_exit(127);
""", "the shell takes the child's place")
