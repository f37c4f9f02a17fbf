"""What this process is, as the kernel said at its start; filled by start.enter."""

pid = 0
ppid = 0
uid = 0
gid = 0
host_name = "cloche"
executable = "/usr/bin/python3"

image_modules = frozenset()  # names in sys.modules when the boot image was made
modules_at_start = 0

turns = 0  # that a session has taken

signal_words = None  # where the kernel tells the interpreter of a signal; trip.learn
