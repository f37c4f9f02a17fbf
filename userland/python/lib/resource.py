"""Limits and usage of processes."""
import operator
import struct

from _cloche.host.door import Frame, call_data

RLIM_INFINITY = 0xFFFFFFFFFFFFFFFF
RLIMIT_CPU, RLIMIT_FSIZE, RLIMIT_DATA, RLIMIT_STACK, RLIMIT_CORE, RLIMIT_RSS = range(6)
RLIMIT_NPROC, RLIMIT_NOFILE, RLIMIT_MEMLOCK, RLIMIT_AS = 6, 7, 8, 9
RLIMIT_SIGPENDING, RLIMIT_MSGQUEUE, RLIMIT_NICE, RLIMIT_RTPRIO, RLIMIT_RTTIME = 11, 12, 13, 14, 15
RLIMIT_OFILE = RLIMIT_NOFILE
RUSAGE_SELF, RUSAGE_CHILDREN, RUSAGE_THREAD = 0, -1, 1
error = OSError
_NAMES = ("ru_utime ru_stime ru_maxrss ru_ixrss ru_idrss ru_isrss ru_minflt ru_majflt ru_nswap ru_inblock ru_oublock "
          "ru_msgsnd ru_msgrcv ru_nsignals ru_nvcsw ru_nivcsw").split()


_USAGE = struct.Struct("<18i")
USAGE_SIZE = _USAGE.size


class struct_rusage(tuple):
    """As getrusage(2) fills it; times in seconds."""

    def __getattr__(self, name):
        try:
            return self[_NAMES.index(name)]
        except ValueError:
            raise AttributeError(name) from None

    def __repr__(self):
        return "resource.struct_rusage(" + ", ".join(f"{n}={v!r}" for n, v in zip(_NAMES, self)) + ")"


def getrusage(who, /):
    frame = Frame()
    room = frame.space(USAGE_SIZE)
    _, data = call_data("getrusage", who, room, frame=frame)
    return usage_of(data, room)


def usage_of(data, at):
    """Of the kernel's struct rusage."""
    words = _USAGE.unpack_from(data, at)
    return struct_rusage((words[0] + words[1] / 1e6, words[2] + words[3] / 1e6, *words[4:]))


def _limit(value):
    """A limit as the kernel takes it."""
    value = operator.index(value)
    if value == -1:  # which RLIM_INFINITY was once
        import warnings
        warnings.warn("Use RLIM_INFINITY instead of -1.", DeprecationWarning, stacklevel=4)
        return RLIM_INFINITY
    if value < 0:
        raise ValueError("Cannot convert negative int")
    if value > RLIM_INFINITY:
        raise OverflowError("Python int too large to convert to C rlim_t")
    return value


def prlimit(pid, resource, limits=None, /):
    resource = operator.index(resource)
    if not -1 << 31 <= resource < 1 << 31:
        raise OverflowError("Python int too large to convert to C int")
    frame = Frame()
    new = 0
    if limits is not None:
        if len(limits := tuple(limits)) != 2:
            raise ValueError("expected a tuple of 2 integers")
        new = frame.data(struct.pack("<QQ", *map(_limit, limits)))
    room = frame.space(16)
    _, data = call_data("prlimit64", pid, resource, new, room, frame=frame)
    soft, hard = struct.unpack_from("<QQ", data, int(room))
    return soft, hard


def getrlimit(resource, /):
    return prlimit(0, resource)


def setrlimit(resource, limits, /):
    prlimit(0, resource, limits)


def getpagesize():
    return 4096
