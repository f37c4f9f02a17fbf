"""mawk without fork. These lines are under mawk's licence (GPL-2.0-only)."""

from edits import replace

# The child only closes, duplicates and executes.
replace("files.c", "    switch (*pid_ptr = fork()) {\n", "    switch (*pid_ptr = vfork()) {\n",
        "starts the commands of pipes by vfork")
