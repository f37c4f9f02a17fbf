"""select.poll and select.select over the kernel's ppoll: any descriptor, for any event, as on Linux."""
import math
import select as _select
import selectors
import struct
import time

from . import door, threads
from .door import Frame, raw

POLLIN, POLLPRI, POLLOUT, POLLERR, POLLHUP, POLLNVAL, POLLRDNORM, POLLRDBAND, POLLWRNORM, POLLWRBAND, POLLMSG, POLLRDHUP = (
    1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 0x2000)
_EINTR = 4
_ENTRY = struct.Struct("<ihh")
_ALL_SIGNALS = b"\xff" * 8
_woken = False


def _number(fd):
    number = fd
    if not isinstance(fd, int):
        fileno = getattr(fd, "fileno", None)
        if fileno is None:
            raise TypeError("argument must be an int, or have a fileno() method.")
        number = fileno()
        if not isinstance(number, int):
            raise TypeError("fileno() returned a non-integer")
    if number < 0:
        raise ValueError(f"file descriptor cannot be a negative integer ({number})")
    return number


def _wait(wanted, seconds, once=False):
    """{descriptor: events} of those that are ready. With `once` a signal ends the wait. Other threads run meanwhile."""
    entries = b"".join(_ENTRY.pack(fd, events, 0) for fd, events in wanted.items())
    return threads.wait_ready(lambda some: _poll(entries, some, once), seconds) or {}


def wake():
    """A handler of a signal has given a loop something to do."""
    global _woken
    _woken = True


def _poll(entries, seconds, once):
    """The same, and only that; None where a signal has ended it."""
    end = None if seconds is None else time.monotonic() + seconds
    while True:
        frame = Frame()
        table = frame.data(entries or bytes(8))  # an address has to be inside of the data
        limit = 0
        if end is not None:
            left = max(0.0, end - time.monotonic())
            limit = frame.data(struct.pack("<qq", int(left), int(left % 1 * 1e9)))
        if once and seconds != 0:
            result, buffer = _asleep(frame, table, len(entries) // _ENTRY.size, limit)
        else:
            result, buffer = raw("ppoll", table, len(entries) // _ENTRY.size, limit, 0, 8, frame=frame)
        if result >= 0:
            found = {}
            if result:
                at = door.HEADER_SIZE + int(table)
                for fd, _, events in _ENTRY.iter_unpack(buffer[at:at + len(entries)]):
                    if events:
                        found[fd] = events
            return found
        if result != -_EINTR:
            raise door.error(-result)
        if once:
            return None


def _asleep(frame, table, count, limit):
    """ppoll for a loop. Signals are held back until it sleeps: one that comes after the loop has seen that it has nothing to do would
    otherwise give it something, and nobody would wake it."""
    global _woken
    before = _mask(_ALL_SIGNALS)
    try:
        if _woken:
            _woken = False
            return -_EINTR, b""
        return raw("ppoll", table, count, limit, frame.data(before), 8, frame=frame)
    finally:
        _mask(before)
        _woken = False


def _mask(signals):
    """Holds back these signals; what was held back."""
    frame = Frame()
    new = frame.data(signals)
    room = frame.space(8)
    _, data = door.call_data("rt_sigprocmask", 2, new, room, 8, frame=frame)
    return bytes(data[int(room):int(room) + 8])


class poll:
    """select.poll()"""

    _once = False

    def __init__(self):
        self._wanted = {}

    def register(self, fd, eventmask=POLLIN | POLLPRI | POLLOUT, /):
        self._wanted[_number(fd)] = eventmask & 0x7FFF

    def modify(self, fd, eventmask, /):
        number = _number(fd)
        if number not in self._wanted:
            raise FileNotFoundError(2, "No such file or directory")
        self._wanted[number] = eventmask & 0x7FFF

    def unregister(self, fd, /):
        del self._wanted[_number(fd)]

    def poll(self, timeout=None, /):
        seconds = None if timeout is None or timeout < 0 else timeout / 1000
        return list(_wait(self._wanted, seconds, self._once).items())


class _SelectorPoll(poll):
    """A selector gives its loop a turn after each signal: a handler may have given it work."""

    _once = True


def select(rlist, wlist, xlist, timeout=None, /):
    if timeout is not None and timeout < 0:
        raise ValueError("timeout must be non-negative")
    if timeout is not None and math.isnan(timeout):
        raise ValueError("Invalid value NaN (not a number)")
    lists = [[(_number(item), item) for item in items] for items in (rlist, wlist, xlist)]
    wanted = {}
    for items, events in zip(lists, (POLLIN, POLLOUT, POLLPRI)):
        for fd, _ in items:
            wanted[fd] = wanted.get(fd, 0) | events
    found = _wait(wanted, timeout)
    if any(events & POLLNVAL for events in found.values()):
        raise OSError(9, "Bad file descriptor")
    ready = (POLLIN | POLLHUP | POLLERR, POLLOUT | POLLERR, POLLPRI)
    return tuple([item for fd, item in items if found.get(fd, 0) & events] for items, events in zip(lists, ready))


def install():
    for name, value in globals().items():
        if name.startswith("POLL"):
            setattr(_select, name, value)
    _select.poll, _select.select = poll, select
    cls = selectors.PollSelector
    cls._selector_cls, cls._EVENT_READ, cls._EVENT_WRITE = _SelectorPoll, POLLIN, POLLOUT
    selectors.DefaultSelector = cls
