"""pty.spawn: a child on a terminal of its own, without the fork that the library's own makes."""
import os
import sys

from ..libraries import imports


def _adopt(module):
    import fcntl
    import subprocess
    import termios
    import tty

    def spawn(argv, master_read=module._read, stdin_read=module._read):
        """Create a spawned process."""
        if isinstance(argv, str):
            argv = (argv,)
        sys.audit("pty.spawn", argv)
        master, slave = os.openpty()
        child = subprocess.Popen(argv, stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
                                 preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        os.close(slave)
        try:
            mode = tty.setraw(0)
        except (tty.error, IndexError):
            mode = None
        try:
            module._copy(master, master_read, stdin_read)
        finally:
            if mode is not None:
                tty.tcsetattr(0, tty.TCSAFLUSH, mode)
        os.close(master)
        code = child.wait()
        return -code if code < 0 else code << 8

    spawn.__module__ = "pty"
    module.spawn = spawn


def install():
    imports.after("pty", _adopt)
