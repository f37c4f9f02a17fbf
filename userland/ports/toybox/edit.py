"""toybox: functions get the type that they are called by, because a call by another type is a trap here, and getconf tells the kernel's limit.

These lines are under toybox's licence (0BSD).
"""

from edits import replace

WHY = "gives exit handlers the signal number that they are called with"
replace("toys/posix/ps.c", "static void top_cursor_cleanup(void)\n", "static void top_cursor_cleanup(int sig)\n", WHY)
replace("lib/lib.c", "static void tempfile_handler(void)\n", "static void tempfile_handler(int sig)\n", WHY)
replace("toys/pending/dd.c", "static void status()\n", "static void status(int sig)\n", WHY)
replace("toys/pending/dd.c", "          if (TT.conv & _DD_conv_noerror) status();\n",
        "          if (TT.conv & _DD_conv_noerror) status(0);\n", WHY)
replace("toys/pending/dd.c", "\n      status();\n", "\n      status(0);\n", WHY)
# The C library has the least of all that Linux ever took; src/kernel/limits.h has ours.
replace("toys/posix/getconf.c", "    if (l == -1) puts(", "    if (!i && c->value == _SC_ARG_MAX) l = 2 << 20;\n    if (l == -1) puts(",
        "tells how long arguments may be")
