"""fcntl, ioctl and file locks of the kernel."""
import errno
import struct

from _cloche.host.door import Frame, call, call_data, number_of
from _cloche.threads import scheduler

F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_SETFL = 0, 1, 2, 3, 4
F_GETLK, F_SETLK, F_SETLKW = 12, 13, 14  # the 64-bit ones of a 32-bit machine
F_DUPFD_CLOEXEC, F_SETPIPE_SZ, F_GETPIPE_SZ = 1030, 1031, 1032
F_SETOWN, F_GETOWN, F_SETLEASE, F_GETLEASE, F_ADD_SEALS, F_GET_SEALS = 8, 9, 1024, 1025, 1033, 1034
F_SEAL_SEAL, F_SEAL_SHRINK, F_SEAL_GROW, F_SEAL_WRITE = 1, 2, 4, 8
FD_CLOEXEC, FASYNC = 1, 0o20000
F_RDLCK, F_WRLCK, F_UNLCK = 0, 1, 2
LOCK_SH, LOCK_EX, LOCK_NB, LOCK_UN = 1, 2, 4, 8
_FLOCK = struct.Struct("<hhiqqii")  # type, whence, pad, start, length, pid, pad


def _number(fd):
    number = number_of(fd)
    if not -1 << 31 <= number < 1 << 31:
        raise OverflowError("signed integer is less than minimum" if number < 0 else "Python int too large to convert to C int")
    if number < 0:
        raise ValueError(f"file descriptor cannot be a negative integer ({number})")
    return number


def fcntl(fd, cmd, arg=0, /):
    if isinstance(arg, int):
        return call("fcntl", _number(fd), cmd, arg)
    frame = Frame()
    at = frame.data(arg)
    _, data = call_data("fcntl", _number(fd), cmd, at, frame=frame)
    return bytes(data[:len(arg)])


def ioctl(fd, request, arg=0, mutate_flag=True, /):
    if isinstance(arg, int):
        return call("ioctl", _number(fd), request, arg)
    if isinstance(arg, str):
        arg = arg.encode()
    frame = Frame()
    at = frame.data(memoryview(arg).cast("B"))
    result, data = call_data("ioctl", _number(fd), request, at, frame=frame)
    size = memoryview(arg).nbytes
    if mutate_flag and not memoryview(arg).readonly:
        memoryview(arg).cast("B")[:] = data[:size]
        return result
    return bytes(data[:size])


def _locked(attempt):
    """Takes a lock while other threads run: one of them may hold it."""
    def done():
        try:
            attempt()
        except OSError as problem:
            if problem.errno not in (errno.EAGAIN, errno.EACCES):
                raise
            return False
        return True

    scheduler.look_until(done)


def flock(fd, operation, /):
    fd = _number(fd)
    if operation & (LOCK_NB | LOCK_UN) or not scheduler.busy():
        call("flock", fd, operation)
    else:
        _locked(lambda: call("flock", fd, operation | LOCK_NB))


def lockf(fd, cmd, len=0, start=0, whence=0, /):
    fd = _number(fd)
    kind = F_UNLCK if cmd & LOCK_UN else F_RDLCK if cmd & LOCK_SH else F_WRLCK
    frame = Frame()
    at = frame.data(_FLOCK.pack(kind, whence, 0, start, len, 0, 0))
    if cmd & (LOCK_NB | LOCK_UN) or not scheduler.busy():
        call("fcntl", fd, F_SETLK if cmd & (LOCK_NB | LOCK_UN) else F_SETLKW, at, frame=frame)
    else:
        _locked(lambda: call("fcntl", fd, F_SETLK, at, frame=frame))
