"""What this process is, as the kernel said at its start; filled by start.enter."""

pid = 0
ppid = 0
uid = 0
gid = 0
in_child = False  # what this process asks of the kernel happens to its child: preexec_fn runs
host_name = "cloche"
executable = "/usr/bin/python3"

image_modules = frozenset()  # names in sys.modules when the boot image was made
hidden_modules = frozenset()  # of those, the library's that a program may have its own of: programs/shadows.py
modules_at_start = 0

turns = 0  # that a session has taken

signal_words = None  # where the kernel tells the interpreter of a signal; trip.learn
