"""Files of pipes, terminals and sockets: other threads run while one of them has nothing to read or no room."""
import io
import os
import stat

from . import library, scheduler

_PIECE = 65536
_open = io.open


class FileIO(io.FileIO):
    """io.FileIO."""

    waiting = 0  # threads that are in a read

    def readinto(self, buffer, /):
        return self._when_readable(super().readinto, buffer)

    def read(self, size=-1, /):
        if size is None or size < 0:
            return self.readall()
        return self._when_readable(super().read, size)

    def readall(self):
        if not scheduler.busy():
            return super().readall()
        pieces = []
        while piece := self.read(_PIECE):
            pieces.append(piece)
        return b"".join(pieces) if pieces or piece is not None else None

    def write(self, data, /):
        if self.closed or not self.writable() or not library.may_be_full(self.fileno()):
            return super().write(data)
        left = memoryview(data).cast("B")
        return library.in_pieces(self.fileno(), len(left), lambda done, size: super(FileIO, self).write(left[done:done + size]))

    def _when_readable(self, read, argument):
        if self.closed or not scheduler.busy():
            return read(argument)
        self.waiting += 1
        try:
            library.wait_readable(self.fileno())
            return read(argument)
        finally:
            self.waiting -= 1


class BufferedReader(io.BufferedReader):
    """io.BufferedReader. Its end waits for a read of another thread."""

    def close(self):
        raw = getattr(self, "raw", None)
        if raw is not None and raw.waiting:
            scheduler.wait_until(lambda: not raw.waiting)
        super().close()


for _class in (FileIO, BufferedReader):
    _class.__module__, _class.__qualname__ = "_io", _class.__name__


def open(file, mode="r", buffering=-1, encoding=None, errors=None, newline=None, closefd=True, opener=None):
    """io.open; a descriptor's file is one of these where that may have to wait."""
    if type(file) is int and opener is None and mode in _MODES and not (buffering == 1 and "b" in mode) and _may_wait(file):
        return _opened(file, mode, buffering, encoding, errors, newline, closefd)
    return _open(file, mode, buffering, encoding, errors, newline, closefd, opener)


_MODES = {"r", "rt", "tr", "rb", "br", "w", "wt", "tw", "wb", "bw"}


def _may_wait(fd):
    try:
        kind = os.fstat(fd).st_mode
    except OSError:
        return False
    return stat.S_ISFIFO(kind) or stat.S_ISSOCK(kind) or stat.S_ISCHR(kind)


def _opened(fd, mode, buffering, encoding, errors, newline, closefd):
    binary, reading = "b" in mode, "r" in mode
    if binary and (encoding, errors, newline) != (None, None, None) or not binary and buffering == 0:
        return _open(fd, mode, buffering, encoding, errors, newline, closefd)  # what it says of that
    raw = FileIO(fd, "r" if reading else "w", closefd)
    if buffering == 0:
        return raw
    by_line = buffering == 1 or buffering < 0 and raw.isatty()
    size = buffering if buffering > 1 else max(raw._blksize, io.DEFAULT_BUFFER_SIZE)
    buffer = BufferedReader(raw, size) if reading else io.BufferedWriter(raw, size)
    if binary:
        return buffer
    try:
        text = io.TextIOWrapper(buffer, io.text_encoding(encoding), errors, newline, by_line)
    except BaseException:
        buffer.close()
        raise
    text.mode = mode
    return text


def install():
    io.open = open
