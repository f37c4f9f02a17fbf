"""The job server: how many things run at a time over all ports together, as GNU make's children understand it.

A token is a byte in a pipe. Whoever computes holds one; a port holds one for as long as its build.sh runs, which is what the make in
it has for its first job, and that make takes further ones for further jobs and puts them back. So configure scripts of several ports
run side by side, and a port that is alone has the whole machine.
"""

import contextlib
import os
import threading


class JobServer:
    """Tokens for `jobs` jobs. Any thread may use it; close() when none does any more."""

    def __init__(self, jobs):
        self.jobs = max(1, jobs)
        self._read, self._write = os.pipe()
        os.set_blocking(self._read, False)  # of the pipe, so for the children too: make does the same
        os.write(self._write, b"+" * self.jobs)
        self._holders = 0
        self._changed = threading.Condition()

    def close(self):
        os.close(self._read)
        os.close(self._write)

    @property
    def files(self):
        """What a child has to inherit, by the same numbers (subprocess: pass_fds)."""
        return (self._read, self._write)

    @property
    def makeflags(self):
        """MAKEFLAGS for a child that inherits `files`. A make that is told -j by its caller would leave the server."""
        return f" -j --jobserver-auth={self._read},{self._write}"

    @contextlib.contextmanager
    def token(self):
        """Holds one token: waits for it, and puts it back."""
        self._take()
        try:
            yield
        finally:
            with self._changed:
                self._holders -= 1
                os.write(self._write, b"+")
                self._changed.notify_all()

    def _take(self):
        with self._changed:
            while True:
                if self._holders == 0:
                    self._make_whole()
                with contextlib.suppress(BlockingIOError):
                    os.read(self._read, 1)
                    self._holders += 1
                    return
                # A make in a child puts tokens back without telling us.
                self._changed.wait(timeout=0.1)

    def _make_whole(self):
        """With no holder there is no make: tokens that are not there went with a make that was killed."""
        with contextlib.suppress(BlockingIOError):
            while os.read(self._read, 4096):
                pass
        os.write(self._write, b"+" * self.jobs)
