"""System calls of the kernel, through the interpreter's one import.

A frame is a header and a data area. The header holds the number of a Linux call and six argument words; a word that is marked in
`pointers` is an offset into the data area, which the host turns to an address, as it does within arrays and headers of messages. The kernel reads and writes the data area
in place, since the frame is a bytearray of the guest's own memory. The result, or a negative Linux errno, comes back in its first
eight bytes.
"""
import os
import struct

import _host

_HEADER = struct.Struct("<4sIIIIIIII")  # magic, call, pointers, six words
HEADER_SIZE = _HEADER.size
_MAGIC = b"sys0"
_NO_WORDS = (0, 0, 0, 0, 0, 0)
_call = _host.call
_result = struct.Struct("<q").unpack_from

# Numbers of Linux on 32-bit RISC-V, which are the kernel's.
NUMBERS = {
    "getcwd": 17, "dup": 23, "dup3": 24, "fcntl": 25, "ioctl": 29, "flock": 32, "mknodat": 33,
    "statfs64": 43, "fstatfs64": 44, "truncate64": 45, "ftruncate": 46, "faccessat": 48, "chdir": 49, "fchdir": 50,
    "fchmod": 52, "fchmodat": 53, "fchownat": 54, "fchown": 55, "openat": 56, "close": 57, "pipe2": 59,
    "sync": 81, "exit_group": 94, "setpriority": 140, "getpriority": 141, "setgid": 144, "setuid": 146,
    "getresuid": 148, "getresgid": 150, "times": 153, "setpgid": 154, "getpgid": 155, "getsid": 156,
    "setsid": 157, "getgroups": 158, "setgroups": 159, "uname": 160, "umask": 166, "getpid": 172,
    "getppid": 173, "getuid": 174, "geteuid": 175, "getgid": 176, "getegid": 177, "sysinfo": 179,
    "execve": 221, "mkdirat": 34, "statx": 291, "prlimit64": 261, "kill": 129, "rt_sigaction": 134, "rt_sigprocmask": 135,
    "waitid": 95, "setitimer": 103, "getitimer": 102, "getrusage": 165, "close_range": 436,
    "socket": 198, "socketpair": 199, "bind": 200, "listen": 201, "connect": 203, "getsockname": 204, "getpeername": 205,
    "sendto": 206, "recvfrom": 207, "setsockopt": 208, "getsockopt": 209, "shutdown": 210, "sendmsg": 211, "recvmsg": 212, "accept4": 242, "ppoll": 414,
    "faccessat2": 439, "vfork_begin": 0x1004,
    "setxattr": 5, "lsetxattr": 6, "fsetxattr": 7, "getxattr": 8, "lgetxattr": 9, "fgetxattr": 10, "listxattr": 11, "llistxattr": 12,
    "flistxattr": 13, "removexattr": 14, "lremovexattr": 15, "fremovexattr": 16, "eventfd2": 19, "epoll_create1": 20, "epoll_ctl": 21,
    "epoll_pwait": 22, "fallocate": 47, "sendfile": 71, "splice": 76, "tee": 77, "timerfd_create": 85, "sched_setscheduler": 119,
    "sched_getscheduler": 120, "sched_getparam": 121, "sched_setaffinity": 122, "sched_get_priority_max": 125,
    "sched_get_priority_min": 126, "rt_sigpending": 136, "setregid": 143, "setreuid": 145, "setresuid": 147, "setresgid": 149,
    "memfd_create": 279, "copy_file_range": 285, "pidfd_open": 434, "timerfd_gettime": 410, "timerfd_settime": 411, "rt_sigtimedwait": 421,
}


def number_of(fd):
    """The number of a descriptor, or of an object with a fileno()."""
    if isinstance(fd, int):
        return _in_range(fd, 0x7FFFFFFF)
    fileno = getattr(fd, "fileno", None)
    if fileno is None:
        raise TypeError("argument must be an int, or have a fileno() method.")
    number = fileno()
    if not isinstance(number, int):
        raise TypeError("fileno() returned a non-integer")
    return _in_range(number, 0x7FFFFFFF)


def _in_range(number, most):
    """The number, which fits into 32 bits: nothing of it is cut off."""
    if not -0x80000000 <= number <= most:
        raise OverflowError("Python int too large to convert to C int")
    return number


def error(number, *names):
    """The OSError for an errno of the kernel; `names` are file names, as in OSError."""
    if len(names) == 2:
        return OSError(number, os.strerror(number), names[0], None, names[1])
    return OSError(number, os.strerror(number), *names)


class Frame:
    """Collects the data of one call: `text` and `data` put bytes in, `space` reserves room for an answer."""

    __slots__ = ("parts", "size")

    def __init__(self):
        self.parts = []
        self.size = 0

    def data(self, value):
        at = self.size
        pad = -len(value) % 8
        self.parts.append(bytes(value) + bytes(pad))
        self.size += len(value) + pad
        return Pointer(at)

    def text(self, value):
        value = os.fsencode(value)
        if b"\0" in value:
            raise ValueError("embedded null byte")
        return self.data(value + b"\0")

    def space(self, size):
        return self.data(bytes(size))

    def strings(self, values):
        """An array of C strings: offsets, which the host makes addresses, closed by all ones, which it makes null."""
        offsets = [self.text(value) for value in values]
        return Pointers(self.data(struct.pack(f"<{len(offsets) + 1}I", *offsets, 0xFFFFFFFF)))


class Pointer(int):
    """An offset into the data area."""


class Pointers(Pointer):
    """The offset of an array that `Frame.strings` made."""


class Message(Pointer):
    """The offset of a struct msghdr with offsets in it, all ones for none."""


def raw(name, *words, frame=None):
    """The result of a call, negative for an error, and the data area after it. OverflowError for a word of more than 32 bits."""
    marks = 0
    values = list(_NO_WORDS)
    for i, word in enumerate(words):
        _in_range(word, 0xFFFFFFFF)
        if isinstance(word, Pointer):
            marks |= (0x101 if isinstance(word, Pointers) else 0x10001 if isinstance(word, Message) else 1) << i
        values[i] = word & 0xFFFFFFFF
    buffer = bytearray(_HEADER.pack(_MAGIC, NUMBERS[name], marks, *values))
    if frame is not None:
        for part in frame.parts:
            buffer += part
    _call(buffer)
    return _result(buffer)[0], buffer


def call(name, *words, frame=None):
    """The result of a call. OSError when it fails; a call that a signal interrupted is made again."""
    while True:
        result, _ = raw(name, *words, frame=frame)
        if result >= 0:
            return result
        if result != -4:
            raise error(-result)


def call_data(name, *words, frame):
    """The same, with the data area: (result, bytes)."""
    while True:
        result, buffer = raw(name, *words, frame=frame)
        if result >= 0:
            return result, memoryview(buffer)[HEADER_SIZE:]
        if result != -4:
            raise error(-result)
