"""QuickJS-ng: os.exec starts programs by vfork. These lines are under its licence (MIT)."""

from edits import replace

replace("quickjs/quickjs-libc.c", "    pid = fork();\n", "    pid = vfork();\n", "starts programs by vfork")
