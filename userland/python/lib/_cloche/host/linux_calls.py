"""What `os` has on Linux and seldom anybody needs: vectors, copies within the kernel, attributes, timers and events as descriptors,
pseudo terminals by hand, schedulers, ids."""
import errno
import os
import posix
import struct
import sys

from . import door
from .door import Frame, call, call_data, raw
from .posix_calls import publish

EFD_CLOEXEC, EFD_NONBLOCK, EFD_SEMAPHORE = 0o2000000, 0o4000, 1
MFD_CLOEXEC, MFD_ALLOW_SEALING = 1, 2
TFD_CLOEXEC, TFD_NONBLOCK, TFD_TIMER_ABSTIME, TFD_TIMER_CANCEL_ON_SET = 0o2000000, 0o4000, 1, 2
GRND_NONBLOCK, GRND_RANDOM = 1, 2
PIDFD_NONBLOCK = 2048
SPLICE_F_MOVE, SPLICE_F_NONBLOCK, SPLICE_F_MORE = 1, 2, 4
XATTR_CREATE, XATTR_REPLACE, XATTR_SIZE_MAX = 1, 2, 65536
SCHED_OTHER, SCHED_FIFO, SCHED_RR, SCHED_BATCH, SCHED_IDLE, SCHED_RESET_ON_FORK = 0, 1, 2, 3, 5, 0x40000000
ST_RDONLY, ST_NOSUID, ST_NODEV, ST_NOEXEC, ST_SYNCHRONOUS, ST_MANDLOCK = 1, 2, 4, 8, 16, 64
ST_WRITE, ST_APPEND, ST_NOATIME, ST_NODIRATIME, ST_RELATIME = 128, 256, 1024, 2048, 4096
WSTOPPED, TMP_MAX = 2, 238328
F_ULOCK, F_LOCK, F_TLOCK, F_TEST = 0, 1, 2, 3
_CONSTANTS = [name for name in globals() if name.isupper() and not name.startswith("_")]
_ITIMERSPEC = struct.Struct("<qqqq")  # interval, value
_ALL_ONES = 0xFFFFFFFF
_MOST_BYTES = 0x7FFFF000  # of one call, as on Linux


# --- bytes -------------------------------------------------------------------------------------------------------

def readv(fd, buffers, /):
    return _scatter(buffers, lambda size: os.read(fd, size))


def preadv(fd, buffers, offset, flags=0, /):
    return _scatter(buffers, lambda size: os.pread(fd, size, offset))


def _scatter(buffers, read):
    views = [memoryview(buffer).cast("B") for buffer in buffers]
    content = read(sum(len(view) for view in views))
    left = memoryview(content)
    for view in views:
        count = min(len(view), len(left))
        view[:count] = left[:count]
        left = left[count:]
    return len(content)


def writev(fd, buffers, /):
    return os.write(fd, b"".join(buffers))


def pwritev(fd, buffers, offset, flags=0, /):
    return os.pwrite(fd, b"".join(buffers), offset)


def _with_offsets(name, before, offsets, *after):
    """A call that takes pointers to positions, null for None."""
    frame = Frame()
    words = []
    for fd, offset in zip(before, offsets):
        words += [fd, 0 if offset is None else frame.data(struct.pack("<q", offset))]
    return call(name, *words, *after, frame=frame)


def sendfile(out_fd, in_fd, offset, count):
    if count < 0:
        raise ValueError("count cannot be negative")
    frame = Frame()
    at = 0 if offset is None else frame.data(struct.pack("<q", offset))
    return call("sendfile", out_fd, in_fd, at, min(count, _MOST_BYTES), frame=frame)


def copy_file_range(src, dst, count, offset_src=None, offset_dst=None):
    if count < 0:
        raise ValueError("negative value for 'count' not allowed")
    return _with_offsets("copy_file_range", (src, dst), (offset_src, offset_dst), min(count, _MOST_BYTES), 0)


def splice(src, dst, count, offset_src=None, offset_dst=None, flags=0):
    if count < 0:
        raise ValueError("negative value for 'count' not allowed")
    return _with_offsets("splice", (src, dst), (offset_src, offset_dst), min(count, _MOST_BYTES), flags)


def posix_fallocate(fd, offset, length, /):
    call("fallocate", fd, 0, offset & _ALL_ONES, offset >> 32, length & _ALL_ONES, length >> 32)


def lockf(fd, command, length, /):
    import fcntl
    if command == F_TEST:
        try:
            fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB, length, 0, 1)
        finally:
            fcntl.lockf(fd, fcntl.LOCK_UN, length, 0, 1)
        return
    how = {F_ULOCK: fcntl.LOCK_UN, F_LOCK: fcntl.LOCK_EX, F_TLOCK: fcntl.LOCK_EX | fcntl.LOCK_NB}.get(command)
    if how is None:
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
    fcntl.lockf(fd, how, length, 0, 1)


def getrandom(size, flags=0):
    return os.urandom(size)


# --- descriptors of other things ---------------------------------------------------------------------------------

def memfd_create(name, flags=MFD_CLOEXEC):
    frame = Frame()
    return call("memfd_create", frame.text(name), flags, frame=frame)


def pidfd_open(pid, flags=0):
    """ENOSYS, as an older Linux has it: a library that finds no such function may look for one in a way that is not to be had here."""
    return call("pidfd_open", pid, flags)


def eventfd(initval, flags=EFD_CLOEXEC):
    return call("eventfd2", initval, flags)


def eventfd_read(fd):
    return struct.unpack("<Q", os.read(fd, 8))[0]


def eventfd_write(fd, value):
    os.write(fd, struct.pack("<Q", value))


def timerfd_create(clockid, /, *, flags=TFD_CLOEXEC):
    import time
    linux = {time.CLOCK_REALTIME: 0, time.CLOCK_MONOTONIC: 1}.get(clockid)
    if linux is None:
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
    return call("timerfd_create", linux, flags | TFD_CLOEXEC)


def _timer(fd, room, data):
    every, every_ns, left, left_ns = _ITIMERSPEC.unpack_from(data, int(room))
    return left * 10**9 + left_ns, every * 10**9 + every_ns


def timerfd_settime_ns(fd, /, *, flags=0, initial=0, interval=0):
    frame = Frame()
    new = frame.data(_ITIMERSPEC.pack(*divmod(interval, 10**9), *divmod(initial, 10**9)))
    room = frame.space(_ITIMERSPEC.size)
    _, data = call_data("timerfd_settime", fd, flags, new, room, frame=frame)
    return _timer(fd, room, data)


def timerfd_settime(fd, /, *, flags=0, initial=0.0, interval=0.0):
    before = timerfd_settime_ns(fd, flags=flags, initial=round(initial * 1e9), interval=round(interval * 1e9))
    return before[0] / 1e9, before[1] / 1e9


def timerfd_gettime_ns(fd, /):
    frame = Frame()
    room = frame.space(_ITIMERSPEC.size)
    _, data = call_data("timerfd_gettime", fd, room, frame=frame)
    return _timer(fd, room, data)


def timerfd_gettime(fd, /):
    left, every = timerfd_gettime_ns(fd)
    return left / 1e9, every / 1e9


# --- attributes --------------------------------------------------------------------------------------------------

def _of_path(name, path, follow_symlinks, *words, frame):
    """(result, data) of a call that comes for paths, links and descriptors."""
    if isinstance(path, int):
        return call_data("f" + name, path, *words, frame=frame)
    at = frame.text(os.fspath(path))
    result, buffer = raw(name if follow_symlinks else "l" + name, at, *words, frame=frame)
    if result < 0:
        raise door.error(-result, path)
    return result, memoryview(buffer)[door.HEADER_SIZE:]


def getxattr(path, attribute, *, follow_symlinks=True):
    frame = Frame()
    name, room = frame.text(attribute), frame.space(XATTR_SIZE_MAX)
    size, data = _of_path("getxattr", path, follow_symlinks, name, room, XATTR_SIZE_MAX, frame=frame)
    return bytes(data[int(room):int(room) + size])


def setxattr(path, attribute, value, flags=0, *, follow_symlinks=True):
    frame = Frame()
    name, content = frame.text(attribute), frame.data(bytes(value) or bytes(1))
    _of_path("setxattr", path, follow_symlinks, name, content, len(value), flags, frame=frame)


def removexattr(path, attribute, *, follow_symlinks=True):
    frame = Frame()
    _of_path("removexattr", path, follow_symlinks, frame.text(attribute), frame=frame)


def listxattr(path=None, *, follow_symlinks=True):
    frame = Frame()
    room = frame.space(XATTR_SIZE_MAX)
    size, data = _of_path("listxattr", "." if path is None else path, follow_symlinks, room, XATTR_SIZE_MAX, frame=frame)
    return [os.fsdecode(name) for name in bytes(data[int(room):int(room) + size]).split(b"\0") if name]


def major(device, /):
    return device >> 8 & 0xFFF | device >> 32 & 0xFFFFF000


def minor(device, /):
    return device & 0xFF | device >> 12 & 0xFFFFFF00


def makedev(major, minor, /):
    return (major & 0xFFFFF000) << 32 | (major & 0xFFF) << 8 | (minor & 0xFFFFFF00) << 12 | minor & 0xFF


def fwalk(top=".", topdown=True, onerror=None, *, follow_symlinks=False, dir_fd=None):
    """os.walk, with a descriptor of each folder."""
    sys.audit("os.fwalk", top, topdown, onerror, follow_symlinks, dir_fd)
    top = os.fspath(top)
    yield from _fwalk(top, top, topdown, onerror, follow_symlinks, dir_fd)


def _listed(fd, as_bytes):
    """Names of the folders and of the files in a folder."""
    folders, files = [], []
    with os.scandir(fd) as entries:
        for entry in entries:
            name = os.fsencode(entry.name) if as_bytes else entry.name
            try:
                (folders if entry.is_dir() else files).append(name)
            except OSError:
                files.append(name)
    return folders, files


def _fwalk(top, path, topdown, onerror, follow_symlinks, dir_fd):
    opened = []  # descriptors
    todo = [("enter", dir_fd, top, path)]
    try:
        while todo:
            what, *given = todo.pop()
            if what == "leave":
                os.close(opened.pop())
                continue
            if what == "tell":
                yield tuple(given)
                continue
            folder_fd, name, path = given
            is_root = not opened and name is top
            try:
                before = None if follow_symlinks else os.stat(name, dir_fd=folder_fd, follow_symlinks=False)
                fd = os.open(name, os.O_RDONLY | os.O_NONBLOCK, dir_fd=folder_fd)
            except OSError as error:
                if is_root:
                    raise
                if onerror is not None:
                    onerror(error)
                continue
            opened.append(fd)
            todo.append(("leave",))
            if before is not None and (is_root and not os.path.stat.S_ISDIR(before.st_mode)
                                       or not os.path.samestat(before, os.fstat(fd))):
                continue
            folders, files = _listed(fd, isinstance(top, bytes))
            if topdown:
                yield path, folders, files, fd
            else:
                todo.append(("tell", path, folders, files, fd))
            todo += [("enter", fd, name, os.path.join(path, name)) for name in reversed(folders)]
    finally:
        while opened:
            os.close(opened.pop())


# --- terminals ---------------------------------------------------------------------------------------------------

def ctermid():
    return "/dev/tty"


def posix_openpt(oflag, /):
    return os.open("/dev/ptmx", oflag)


def grantpt(fd, /):
    ptsname(fd)


def unlockpt(fd, /):
    frame = Frame()
    call("ioctl", fd, 0x40045431, frame.data(struct.pack("<i", 0)), frame=frame)  # TIOCSPTLCK


def ptsname(fd, /):
    frame = Frame()
    room = frame.space(8)
    _, data = call_data("ioctl", fd, 0x80045430, room, frame=frame)  # TIOCGPTN
    return f"/dev/pts/{struct.unpack_from('<I', data)[0]}"


def login_tty(fd, /):
    os.setsid()
    call("ioctl", fd, 0x540E, 0)  # TIOCSCTTY
    for number in range(3):
        os.dup2(fd, number)
    if fd > 2:
        os.close(fd)


# --- processes ---------------------------------------------------------------------------------------------------

class sched_param(tuple):
    __slots__ = ()

    def __new__(cls, sched_priority):
        return tuple.__new__(cls, (sched_priority,))

    sched_priority = property(lambda self: self[0])

    def __repr__(self):
        return f"posix.sched_param(sched_priority={self[0]!r})"


def sched_getscheduler(pid, /):
    return call("sched_getscheduler", pid)


def sched_setscheduler(pid, policy, param, /):
    frame = Frame()
    call("sched_setscheduler", pid, policy, frame.data(struct.pack("<i", param.sched_priority)), frame=frame)


def sched_getparam(pid, /):
    frame = Frame()
    room = frame.space(8)
    _, data = call_data("sched_getparam", pid, room, frame=frame)
    return sched_param(struct.unpack_from("<i", data)[0])


def sched_get_priority_max(policy):
    return call("sched_get_priority_max", policy)


def sched_get_priority_min(policy):
    return call("sched_get_priority_min", policy)


def sched_setaffinity(pid, mask, /):
    bits = 0
    for number in mask:
        bits |= 1 << number
    frame = Frame()
    call("sched_setaffinity", pid, 128, frame.data(bits.to_bytes(128, "little")), frame=frame)


def setpgrp():
    os.setpgid(0, 0)


def setuid(uid, /): call("setuid", _id(uid))
def setgid(gid, /): call("setgid", _id(gid))
def setreuid(ruid, euid, /): call("setreuid", _id(ruid), _id(euid))
def setregid(rgid, egid, /): call("setregid", _id(rgid), _id(egid))
def setresuid(ruid, euid, suid, /): call("setresuid", _id(ruid), _id(euid), _id(suid))
def setresgid(rgid, egid, sgid, /): call("setresgid", _id(rgid), _id(egid), _id(sgid))
def seteuid(euid, /): call("setresuid", _ALL_ONES, _id(euid), _ALL_ONES)
def setegid(egid, /): call("setresgid", _ALL_ONES, _id(egid), _ALL_ONES)


def _id(value):
    if not -1 <= value <= _ALL_ONES:
        raise OverflowError("uid is less than minimum" if value < 0 else "uid is greater than maximum")
    return value & _ALL_ONES


def setgroups(groups, /):
    frame = Frame()
    call("setgroups", len(groups), frame.data(struct.pack(f"<{len(groups)}I", *groups) or bytes(8)), frame=frame)


def getresuid(): return _three("getresuid")
def getresgid(): return _three("getresgid")


def _three(name):
    frame = Frame()
    rooms = [frame.space(8) for _ in range(3)]
    _, data = call_data(name, *rooms, frame=frame)
    return tuple(struct.unpack_from("<I", data, int(room))[0] for room in rooms)


def getgrouplist(user, group, /):
    import grp
    return list(dict.fromkeys([group, *(entry.gr_gid for entry in grp.getgrall() if user in entry.gr_mem)]))


def initgroups(username, gid, /):
    setgroups(getgrouplist(username, gid))


def install():
    publish(sys.modules[__name__], _CONSTANTS)
    os.sched_param = posix.sched_param = sched_param
    sched_param.__module__ = "posix"
    os.sched_param.__qualname__ = "sched_param"
