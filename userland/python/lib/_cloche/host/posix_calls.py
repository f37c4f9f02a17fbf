"""The functions of `os` that the interpreter's C library lacks, over the kernel's calls."""
import errno
import io
import operator
import os
import posix
import struct
import sys
import time

from . import door, state
from .door import Frame, call, call_data, raw

AT_FDCWD = -100
_F_DUPFD_CLOEXEC, _F_GETFD, _F_SETFD, _FD_CLOEXEC = 1030, 1, 2, 1
_O_CLOEXEC, _O_NONBLOCK = 0o2000000, 0o4000
_TIOCGWINSZ = 0x5413


# --- who we are --------------------------------------------------------------------------------------------------

def getpid():
    return state.pid


def getppid():
    return call("getppid")


def getuid():
    return call("getuid")


def geteuid():
    return call("geteuid")


def getgid():
    return call("getgid")


def getegid():
    return call("getegid")


def getgroups():
    count = call("getgroups", 0, 0)
    frame = Frame()
    room = frame.space(4 * max(count, 1))
    count, data = call_data("getgroups", count, room, frame=frame)
    return list(struct.unpack_from(f"<{count}I", data))


def getlogin():
    import pwd
    return pwd.getpwuid(getuid()).pw_name


def getpgid(pid):
    return call("getpgid", pid)


def getpgrp():
    return call("getpgid", 0)


def setpgid(pid, pgrp):
    call("setpgid", pid, pgrp)


def getsid(pid):
    return call("getsid", pid)


def setsid():
    call("setsid")


def sleep(seconds, /):
    """time.sleep: a signal's handler runs when it comes, and what is left is slept afterwards."""
    if not hasattr(seconds, "__index__") and not isinstance(seconds, float):
        seconds = float(seconds) if hasattr(seconds, "__float__") else operator.index(seconds)
    if seconds != seconds:
        raise ValueError("Invalid value NaN (not a number)")
    if seconds < 0:
        raise ValueError("sleep length must be non-negative")
    end = time.monotonic() + seconds
    while True:
        frame = Frame()
        whole = int(seconds)
        moment = frame.data(struct.pack("<qq", whole, int((seconds - whole) * 1e9)))
        result, _ = raw("ppoll", 0, 0, moment, 0, 0, frame=frame)
        if result != -4:
            return
        seconds = end - time.monotonic()
        if seconds <= 0:
            return


def umask(mask):
    return call("umask", mask)


_sysconf = posix.sysconf
_PAGE = 4096  # bytes, in which the kernel counts; those of WebAssembly have 64 KiB


def sysconf(name, /):
    """What the C library does not know, from the kernel."""
    number = os.sysconf_names.get(name, name) if isinstance(name, str) else name
    if number == os.sysconf_names.get("SC_OPEN_MAX"):
        import resource
        return resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if number in (os.sysconf_names.get("SC_PHYS_PAGES"), os.sysconf_names.get("SC_AVPHYS_PAGES")):
        frame = Frame()
        room = frame.space(64)
        _, data = call_data("sysinfo", room, frame=frame)
        total, free = struct.unpack_from("<II", data, 16)
        unit = struct.unpack_from("<I", data, 52)[0] or 1
        return (total if number == os.sysconf_names["SC_PHYS_PAGES"] else free) * unit // _PAGE
    if number in (os.sysconf_names.get("SC_PAGESIZE"), os.sysconf_names.get("SC_PAGE_SIZE")):
        return _PAGE
    return _sysconf(name)


def uname():
    frame = Frame()
    room = frame.space(6 * 65)
    _, data = call_data("uname", room, frame=frame)
    text = [bytes(data[i * 65:(i + 1) * 65]).split(b"\0", 1)[0].decode() for i in range(5)]
    return posix.uname_result(text)


def getpriority(which, who):
    return 20 - call("getpriority", which, who)


def setpriority(which, who, priority):
    call("setpriority", which, who, priority)


def nice(increment):
    value = max(-20, min(19, getpriority(0, 0) + increment))
    setpriority(0, 0, value)
    return value


def getloadavg():
    with io.open("/proc/loadavg") as file:
        return tuple(float(word) for word in file.read().split()[:3])


def sched_getaffinity(pid):
    return set(range(os.cpu_count() or 1))


# --- descriptors -------------------------------------------------------------------------------------------------

def pipe2(flags):
    frame = Frame()
    room = frame.space(8)
    _, data = call_data("pipe2", room, flags, frame=frame)
    return struct.unpack_from("<ii", data)


def pipe():
    frame = Frame()
    room = frame.space(8)
    _, data = call_data("pipe2", room, _O_CLOEXEC, frame=frame)
    return struct.unpack_from("<ii", data)


def dup(fd, /):
    return call("fcntl", fd, _F_DUPFD_CLOEXEC, 0)


def dup2(fd, fd2, inheritable=True):
    if fd == fd2:
        call("fcntl", fd, _F_GETFD, 0)
        return fd2
    return call("dup3", fd, fd2, 0 if inheritable else _O_CLOEXEC)


def get_inheritable(fd, /):
    return not call("fcntl", fd, _F_GETFD, 0) & _FD_CLOEXEC


def set_inheritable(fd, inheritable, /):
    call("fcntl", fd, _F_SETFD, 0 if inheritable else _FD_CLOEXEC)


def get_blocking(fd, /):
    return not call("fcntl", fd, 3, 0) & _O_NONBLOCK


def set_blocking(fd, blocking, /):
    flags = call("fcntl", fd, 3, 0)
    call("fcntl", fd, 4, flags & ~_O_NONBLOCK if blocking else flags | _O_NONBLOCK)


def get_terminal_size(fd=1, /):
    frame = Frame()
    room = frame.space(8)
    _, data = call_data("ioctl", fd, _TIOCGWINSZ, room, frame=frame)
    rows, columns = struct.unpack_from("<HH", data)
    return os.terminal_size((columns, rows))


def ttyname(fd, /):
    if not os.isatty(fd):
        raise OSError(errno.ENOTTY, os.strerror(errno.ENOTTY))
    return os.readlink(f"/proc/self/fd/{fd}")


def openpty():
    master = os.open("/dev/ptmx", os.O_RDWR)
    frame = Frame()
    room = frame.space(8)
    _, data = call_data("ioctl", master, 0x80045430, room, frame=frame)  # TIOCGPTN
    number = struct.unpack_from("<I", data)[0]
    frame = Frame()
    unlock = frame.data(struct.pack("<i", 0))
    call("ioctl", master, 0x40045431, unlock, frame=frame)  # TIOCSPTLCK
    return master, open(f"/dev/pts/{number}", OPEN_FLAGS["O_RDWR"] | OPEN_FLAGS["O_NOCTTY"])


def tcgetpgrp(fd, /):
    frame = Frame()
    room = frame.space(8)
    _, data = call_data("ioctl", fd, 0x540F, room, frame=frame)
    return struct.unpack_from("<i", data)[0]


def tcsetpgrp(fd, pgid, /):
    frame = Frame()
    group = frame.data(struct.pack("<i", pgid))
    call("ioctl", fd, 0x5410, group, frame=frame)


# --- files -------------------------------------------------------------------------------------------------------

_chdir = posix.chdir
_scandir, _listdir = posix.scandir, posix.listdir


def _path(path):
    """(descriptor to start from, text) of a path, given as text or as a descriptor."""
    path = os.fspath(path)
    return os.fsdecode(path)


def chdir(path):
    """The kernel's directory first, which children inherit; then the C library's, which relative paths go by."""
    if isinstance(path, int):
        return fchdir(path)
    frame = Frame()
    result, _ = raw("chdir", frame.text(os.fspath(path)), frame=frame)
    if result < 0:
        raise door.error(-result, path)
    _chdir(kernel_cwd())


def fchdir(fd):
    call("fchdir", fd)
    _chdir(kernel_cwd())


libc_cwd = posix.getcwd  # before it is the kernel's


def set_libc_cwd(path):
    """Only the C library's directory: the kernel's stays as it is."""
    try:
        _chdir(path)
    except OSError:
        pass  # a folder that was removed: relative paths fail, as they do elsewhere


def kernel_cwd():
    frame = Frame()
    room = frame.space(4096)
    length, data = call_data("getcwd", room, 4096, frame=frame)
    return os.fsdecode(bytes(data[:length - 1]))


def _named(name, path, *words, dir_fd=None):
    frame = Frame()
    text = frame.text(os.fspath(path))
    result, _ = raw(name, AT_FDCWD if dir_fd is None else dir_fd, text, *words, frame=frame)
    if result < 0:
        raise door.error(-result, path)


def chmod(path, mode, *, dir_fd=None, follow_symlinks=True):
    if isinstance(path, int):
        return fchmod(path, mode)
    if not follow_symlinks:
        raise NotImplementedError("chmod: follow_symlinks unavailable on this platform")
    _named("fchmodat", path, mode, 0, dir_fd=dir_fd)


def fchmod(fd, mode):
    call("fchmod", fd, mode)


def chown(path, uid, gid, *, dir_fd=None, follow_symlinks=True):
    if isinstance(path, int):
        return fchown(path, uid, gid)
    _named("fchownat", path, uid, gid, 0 if follow_symlinks else 0x100, dir_fd=dir_fd)


def fchown(fd, uid, gid):
    call("fchown", fd, uid, gid)


def lchown(path, uid, gid):
    chown(path, uid, gid, follow_symlinks=False)


def access(path, mode, *, dir_fd=None, effective_ids=False, follow_symlinks=True):
    frame = Frame()
    text = frame.text(os.fspath(path))
    flags = (0x200 if effective_ids else 0) | (0 if follow_symlinks else 0x100)
    return raw("faccessat2", AT_FDCWD if dir_fd is None else dir_fd, text, mode, flags, frame=frame)[0] >= 0


def mkfifo(path, mode=0o666, *, dir_fd=None):
    _named("mknodat", path, 0o010000 | (mode & 0o7777), 0, dir_fd=dir_fd)


def mknod(path, mode=0o600, device=0, *, dir_fd=None):
    _named("mknodat", path, mode, device, dir_fd=dir_fd)


def truncate(path, length):
    """The C library opens the file for it, and a pipe would be waited for."""
    if isinstance(path, bool):
        import warnings
        warnings.warn("bool is used as a file descriptor", RuntimeWarning, 2)
    if isinstance(path, int):
        return os.ftruncate(path, length)
    length = operator.index(length)
    frame = Frame()
    text = frame.text(os.fspath(path))
    result, _ = raw("truncate64", text, length & 0xFFFFFFFF, length >> 32, frame=frame)
    if result < 0:
        raise door.error(-result, path)


def sync():
    call("sync")


# WASI knows no owners and permissions, so these are the kernel's; `posix` keeps its own, which imports use.

_STATX = struct.Struct("<IIQIIIH2xQQQQqI4xqI4xqI4xqI4xIIII")


def _stat(directory, path, flags, name):
    frame = Frame()
    text = frame.text(path)
    room = frame.space(256)
    result, buffer = raw("statx", directory, text, flags, 0x7FF, room, frame=frame)
    if result < 0:
        raise door.error(-result, *(() if name is None else (name,)))
    (_, block, _, links, uid, gid, mode, number, size, blocks, _, atime, atime_ns, _, _, ctime, ctime_ns, mtime, mtime_ns,
     rdev_major, rdev_minor, dev_major, dev_minor) = _STATX.unpack_from(buffer, door.HEADER_SIZE + room)
    extra = {
        "st_atime": atime + atime_ns / 1e9, "st_mtime": mtime + mtime_ns / 1e9, "st_ctime": ctime + ctime_ns / 1e9,
        "st_atime_ns": atime * 10**9 + atime_ns, "st_mtime_ns": mtime * 10**9 + mtime_ns,
        "st_ctime_ns": ctime * 10**9 + ctime_ns, "st_blksize": block, "st_blocks": blocks,
        "st_rdev": rdev_major << 8 | rdev_minor,
    }
    return os.stat_result((mode, number, dev_major << 8 | dev_minor, links, uid, gid, size, atime, mtime, ctime), extra)


def stat(path, *, dir_fd=None, follow_symlinks=True):
    if isinstance(path, int):
        return fstat(path)
    name = os.fspath(path)
    return _stat(AT_FDCWD if dir_fd is None else dir_fd, name, 0 if follow_symlinks else 0x100, name)


def lstat(path, *, dir_fd=None):
    return stat(path, dir_fd=dir_fd, follow_symlinks=False)


def fstat(fd):
    return _stat(fd, b"", 0x1000, None)


open_beside = None  # threads/scheduler.py: opens what may have to wait, while there are other threads


def open(path, flags, mode=0o777, *, dir_fd=None):
    name = os.fspath(path)
    if open_beside is not None and (fd := open_beside(name, linux_open_flags(flags), mode, dir_fd)) is not None:
        return fd
    frame = Frame()
    text = frame.text(name)
    result, _ = raw("openat", AT_FDCWD if dir_fd is None else dir_fd, text, linux_open_flags(flags) | _O_CLOEXEC, mode, frame=frame)
    if result < 0:
        raise door.error(-result, name)
    return result


class DirEntry:
    """What scandir gives. Its stat is the kernel's; the rest is what the C library read with the name."""

    __slots__ = ("_entry", "_folder", "name", "path")

    def __init__(self, entry, folder=None):
        self._entry, self._folder, self.name = entry, folder, entry.name
        self.path = entry.path if folder is None else entry.name

    def is_dir(self, *, follow_symlinks=True): return self._entry.is_dir(follow_symlinks=follow_symlinks)
    def is_file(self, *, follow_symlinks=True): return self._entry.is_file(follow_symlinks=follow_symlinks)
    def is_symlink(self): return self._entry.is_symlink()
    def is_junction(self): return False
    def inode(self): return self._entry.inode()
    def stat(self, *, follow_symlinks=True): return stat(self.path, dir_fd=self._folder, follow_symlinks=follow_symlinks)
    def __fspath__(self): return self.path
    def __repr__(self): return f"<DirEntry {self.name!r}>"


class _ScandirIterator:
    __slots__ = ("_entries", "_folder")

    def __init__(self, entries, folder=None): self._entries, self._folder = entries, folder
    def __iter__(self): return self
    def __next__(self): return DirEntry(next(self._entries), self._folder)
    def __enter__(self): return self
    def __exit__(self, *_): self._entries.close()
    def close(self): self._entries.close()


def _by_number(fd):
    """The path by which the C library finds an open folder."""
    if not os.path.stat.S_ISDIR(fstat(fd).st_mode):
        raise door.error(20, fd)
    return f"/proc/self/fd/{fd}"


def scandir(path=None):
    if isinstance(path, int):
        return _ScandirIterator(_scandir(_by_number(path)), path)
    _refuse_empty(path)
    return _ScandirIterator(_scandir(path))


def listdir(path=None):
    _refuse_empty(path)
    return _listdir(_by_number(path) if isinstance(path, int) else path)


def _refuse_empty(path):
    if isinstance(path, (str, bytes)) and not path:
        raise door.error(2, path)


def mkdir(path, mode=0o777, *, dir_fd=None):
    _named("mkdirat", path, mode, dir_fd=dir_fd)


def _statvfs(name, *words, frame, room):
    _, data = call_data(name, *words, frame=frame)
    at = int(room)
    kind, block = struct.unpack_from("<II", data, at)
    blocks, free, available, files, files_free = struct.unpack_from("<5Q", data, at + 8)
    system, name_max, fragment, flags = struct.unpack_from("<QIII", data, at + 48)
    del kind
    return os.statvfs_result((block, fragment or block, blocks, free, available, files, files_free, files_free, flags, name_max, system))


def statvfs(path):
    if isinstance(path, int):
        return fstatvfs(path)
    frame = Frame()
    text = frame.text(os.fspath(path))
    room = frame.space(128)
    return _statvfs("statfs64", text, 88, room, frame=frame, room=room)


def fstatvfs(fd):
    frame = Frame()
    room = frame.space(128)
    return _statvfs("fstatfs64", fd, 88, room, frame=frame, room=room)


# os has Linux's; `posix` keeps the C library's, as what C opens has them: io.FileIO gives them to an `opener`.
OPEN_FLAGS = {
    "O_RDONLY": 0, "O_WRONLY": 1, "O_RDWR": 2, "O_ACCMODE": 3, "O_CREAT": 0o100, "O_EXCL": 0o200, "O_NOCTTY": 0o400, "O_TRUNC": 0o1000,
    "O_APPEND": 0o2000, "O_NONBLOCK": 0o4000, "O_NDELAY": 0o4000, "O_DSYNC": 0o10000, "O_ASYNC": 0o20000, "O_DIRECT": 0o40000,
    "O_LARGEFILE": 0, "O_DIRECTORY": 0o200000, "O_NOFOLLOW": 0o400000, "O_NOATIME": 0o1000000, "O_CLOEXEC": 0o2000000, "O_SYNC": 0o4010000,
    "O_FSYNC": 0o4010000, "O_RSYNC": 0o4010000, "O_PATH": 0o10000000, "O_TMPFILE": 0o20200000,
}
_C_READ, _C_WRITE = posix.O_RDONLY, posix.O_WRONLY  # bits that no flag of Linux has
_C_FLAGS = [(getattr(posix, name), OPEN_FLAGS[name]) for name in ("O_CREAT", "O_EXCL", "O_TRUNC", "O_APPEND", "O_NONBLOCK", "O_DIRECTORY", "O_NOFOLLOW")]
_BESIDE_C_FLAGS = 0o13607700  # that an opener may have added to them


def linux_open_flags(flags):
    """Linux's open flags, for these and for the C library's own."""
    if not flags & (_C_READ | _C_WRITE):
        return flags
    linux = flags & _BESIDE_C_FLAGS
    linux |= (2 if flags & _C_READ else 1) if flags & _C_WRITE else 0
    for own, value in _C_FLAGS:
        if flags & own:
            linux |= value
    return linux


# Imports go by `posix`, whose own functions are quicker and tell all that they need.
_OF_OS_ONLY = {"stat", "lstat", "fstat", "open", "mkdir", "scandir", "listdir"}
_OUR_OWN = {"install", "sleep", "publish", "kernel_cwd", "linux_open_flags", "start_child", "find_program", "set_signal", "libc_cwd",
            "set_libc_cwd", "own_set_handler", "own_raise_signal", "default_action"}


def publish(module, constants=()):
    """The public functions of one of our modules, and these constants, become those of `os` and `posix`."""
    from types import FunctionType
    for name, value in vars(module).items():
        is_function = isinstance(value, FunctionType) and value.__module__ == module.__name__
        if name.startswith("_") or name in _OUR_OWN or not (is_function or name in constants):
            continue
        if name not in _OF_OS_ONLY:
            setattr(posix, name, value)
        setattr(os, name, value)
        if name not in os.__all__:
            os.__all__.append(name)


# Which of the functions take what: os.supports_follow_symlinks and the like, which `shutil` goes by.
_SUPPORTS = {
    "supports_follow_symlinks": "access chown link stat utime",
    "supports_dir_fd": "access chmod chown lstat mkdir mkfifo mknod open readlink rename rmdir stat symlink unlink utime",
    "supports_fd": "chdir chmod chown listdir pathconf scandir stat truncate utime",
    "supports_effective_ids": "access",
}


def install():
    publish(sys.modules[__name__])
    if hasattr(os, "lchmod"):
        del os.lchmod  # Linux has none
    for name, functions in _SUPPORTS.items():
        setattr(os, name, {getattr(os, function) for function in functions.split() if hasattr(os, function)})
    os.DirEntry = DirEntry
    for name, value in OPEN_FLAGS.items():
        setattr(os, name, value)
    for name in ("O_EXEC", "O_SEARCH", "O_TTY_INIT"):
        if vars(os).pop(name, None) is not None:
            os.__all__.remove(name)
    os.PRIO_PROCESS, os.PRIO_PGRP, os.PRIO_USER = 0, 1, 2
