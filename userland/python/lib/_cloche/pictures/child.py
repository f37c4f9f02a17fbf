"""A process of the codecs' program, userland/ports/pictures, and what is said to it and by it: numbers and frames over two pipes.

A picture that makes the program crash, or ask for more memory than there is, ends that process only.
"""
import fcntl
import os
import struct
from signal import SIGKILL

from ..processes import posix_processes
from ..processes.posix_processes import POSIX_SPAWN_DUP2

PROGRAM = "/usr/lib/cloche/pictures"
BROKEN = -2  # as ImageFile.ERRORS has it
_PIECE = 1 << 16
_NUMBER = struct.Struct("<i")


class Gone(Exception):
    """The program has ended before it answered."""


def available():
    return os.path.exists(PROGRAM)


def _beyond_streams(fd):
    """A descriptor that is none of the three streams, which the child gets."""
    if fd > 2:
        return fd
    moved = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 3)
    os.close(fd)
    return moved


class Child:
    """Leaving the block ends it, however far it is."""

    def __init__(self, work):
        self._pid = 0
        self._ends = []
        try:
            request, self._to = self._pipe()
            self._from, answer = self._pipe()
            self._pid = posix_processes.posix_spawn(PROGRAM, ["pictures", work], {}, file_actions=(
                (POSIX_SPAWN_DUP2, request, 0), (POSIX_SPAWN_DUP2, answer, 1)))
            self._close(request)
            self._close(answer)
        except BaseException:
            self.end()
            raise

    @classmethod
    def given(cls, work, numbers, data):
        """One that is told all that it works on."""
        child = cls(work)
        try:
            child.write_numbers(*numbers)
            child.write_frames(data)
            child.written()
        except BaseException:
            child.end()
            raise
        return child

    def _pipe(self):
        ends = [_beyond_streams(fd) for fd in os.pipe()]
        self._ends += ends
        return ends

    def _close(self, fd):
        self._ends.remove(fd)
        os.close(fd)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()

    def end(self):
        for fd in self._ends:
            os.close(fd)
        self._ends = []
        pid, self._pid = self._pid, 0
        options = posix_processes.WNOHANG
        while pid:
            try:
                if posix_processes.waitpid(pid, options) != (0, 0):
                    return
                posix_processes.kill(pid, SIGKILL)  # what it still computes nobody waits for
                options = 0
            except InterruptedError:
                continue
            except ChildProcessError:
                return  # a wait for any child has had it

    def write(self, data):
        view = memoryview(data).cast("B")
        try:
            while view:
                view = view[os.write(self._to, view):]
        except BrokenPipeError:
            raise Gone from None

    def write_numbers(self, *numbers):
        self.write(b"".join(map(_NUMBER.pack, numbers)))

    def write_frames(self, *frames):
        for frame in frames:
            self.write(_NUMBER.pack(len(frame)))
            self.write(frame)

    def written(self):
        """No more is to come."""
        self._close(self._to)

    def read(self, length):
        pieces = []
        while length:
            piece = os.read(self._from, min(length, _PIECE))
            if not piece:
                raise Gone
            pieces.append(piece)
            length -= len(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def read_number(self):
        return _NUMBER.unpack(self.read(4))[0]

    def read_frame(self):
        return self.read(self.read_number())
