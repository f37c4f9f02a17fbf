"""select.poll and select.select over the kernel's ppoll: any descriptor, for any event, as on Linux."""
import math
import os
import select as _select
import selectors
import struct
import time

from ..host import door
from ..host.door import Frame, number_of, raw
from ..threads import scheduler

POLLIN, POLLPRI, POLLOUT, POLLERR, POLLHUP, POLLNVAL, POLLRDNORM, POLLRDBAND, POLLWRNORM, POLLWRBAND, POLLMSG, POLLRDHUP = (
    1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 0x2000)
_EINTR = 4
_ENTRY = struct.Struct("<ihh")
_ALL_SIGNALS = b"\xff" * 8
_wakes = 0  # how often handlers and other threads have given a loop something to do


def _number(fd):
    number = number_of(fd)
    if number < 0:
        raise ValueError(f"file descriptor cannot be a negative integer ({number})")
    return number


def _entries(wanted):
    return b"".join(_ENTRY.pack(fd, events, 0) for fd, events in wanted.items())


def _wait(wanted, seconds, selector=None):
    """{descriptor: events} of those that are ready. For a selector a signal ends the wait, and a wake. Other threads run meanwhile."""
    entries = _entries(wanted)
    if selector is None:
        return scheduler.wait_ready(lambda some: _poll(entries, some, None), seconds, wanted) or {}
    seen = selector.seen
    selector.seen = _wakes
    return scheduler.wait_ready(lambda some: _poll(entries, some, seen), seconds, wanted, lambda: _wakes != seen) or {}


def _wait_for_all(wanted, seconds, is_over=None):
    """For the scheduler, whose threads wait for these: a signal ends it, and so does what `is_over()` says just before it sleeps."""
    return _poll(_entries(wanted), seconds, _wakes, is_over)


def look(wanted, seconds):
    """The same for one thread that waits; None where a signal has ended it, whose handler has run by then."""
    return _poll(_entries(wanted), seconds, _wakes)


def wake():
    """A handler of a signal, or another thread, has given a loop something to do."""
    global _wakes
    _wakes += 1


def _poll(entries, seconds, seen, is_over=None):
    """The same, and only that. With `seen`, how many wakes were seen, it is None where a signal or a wake has ended it."""
    once = seen is not None
    end = None if seconds is None else time.monotonic() + seconds
    while True:
        frame = Frame()
        table = frame.data(entries or bytes(8))  # an address has to be inside of the data
        limit = 0
        if end is not None:
            left = max(0.0, end - time.monotonic())
            limit = frame.data(struct.pack("<qq", int(left), int(left % 1 * 1e9)))
        if once and seconds != 0:
            result, buffer = _asleep(frame, table, len(entries) // _ENTRY.size, limit, seen, is_over)
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


def _asleep(frame, table, count, limit, seen, is_over):
    """ppoll for a loop. Signals are held back until it sleeps: one that comes after the loop has seen that it has nothing to do would
    otherwise give it something, and nobody would wake it."""
    before = _mask(_ALL_SIGNALS)
    try:
        if _wakes != seen or is_over is not None and is_over():
            return -_EINTR, b""
        return raw("ppoll", table, count, limit, frame.data(before), 8, frame=frame)
    finally:
        _mask(before)


def _mask(signals):
    """Holds back these signals; what was held back."""
    frame = Frame()
    new = frame.data(signals)
    room = frame.space(8)
    _, data = door.call_data("rt_sigprocmask", 2, new, room, 8, frame=frame)
    return bytes(data[int(room):int(room) + 8])


class poll:
    """select.poll()"""

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
        return list(_wait(self._wanted, seconds).items())


class _SelectorPoll(poll):
    """A selector gives its loop a turn after each signal: a handler may have given it work."""

    def __init__(self):
        super().__init__()
        self.seen = _wakes

    def poll(self, timeout=None, /):
        seconds = None if timeout is None or timeout < 0 else timeout / 1000
        return list(_wait(self._wanted, seconds, self).items())


def select(rlist, wlist, xlist, timeout=None, /):
    return _select_ready(rlist, wlist, xlist, timeout, None)


def _select_ready(rlist, wlist, xlist, timeout, selector):
    if timeout is not None and timeout < 0:
        raise ValueError("timeout must be non-negative")
    if timeout is not None and math.isnan(timeout):
        raise ValueError("Invalid value NaN (not a number)")
    lists = [[(_number(item), item) for item in items] for items in (rlist, wlist, xlist)]
    wanted = {}
    for items, events in zip(lists, (POLLIN, POLLOUT, POLLPRI)):
        for fd, _ in items:
            wanted[fd] = wanted.get(fd, 0) | events
    found = _wait(wanted, timeout, selector)
    if any(events & POLLNVAL for events in found.values()):
        raise OSError(9, "Bad file descriptor")
    ready = (POLLIN | POLLHUP | POLLERR, POLLOUT | POLLERR, POLLPRI)
    return tuple([item for fd, item in items if found.get(fd, 0) & events] for items, events in zip(lists, ready))


def _selector_select(self, rlist, wlist, xlist, timeout=None):
    """selectors.SelectSelector"""
    return _select_ready(rlist, wlist, xlist, timeout, self)


EPOLLIN, EPOLLPRI, EPOLLOUT, EPOLLERR, EPOLLHUP, EPOLLRDNORM, EPOLLRDBAND, EPOLLWRNORM, EPOLLWRBAND, EPOLLMSG, EPOLLRDHUP = (
    1, 2, 4, 8, 16, 64, 128, 256, 512, 1024, 0x2000)
EPOLLEXCLUSIVE, EPOLLONESHOT, EPOLLET, EPOLL_CLOEXEC = 1 << 28, 1 << 30, 1 << 31, 0o2000000
_ADD, _DELETE, _MODIFY = 1, 2, 3
_EVENT = struct.Struct("<I4xQ")
_MOST_EVENTS = 4096  # in one answer, where no number is asked for


class epoll:
    """select.epoll()"""

    def __init__(self, sizehint=-1, flags=0):
        if sizehint < -1 or sizehint == 0:
            raise ValueError("negative sizehint" if sizehint else "sizehint must be positive")
        if flags & ~EPOLL_CLOEXEC:
            raise OSError(22, "Invalid argument")
        self._fd = door.call("epoll_create1", EPOLL_CLOEXEC)

    @classmethod
    def fromfd(cls, fd, /):
        found = cls.__new__(cls)
        found._fd = fd
        return found

    closed = property(lambda self: self._fd < 0)

    def _check(self):
        if self._fd < 0:
            raise ValueError("I/O operation on closed epoll object")

    def fileno(self):
        self._check()
        return self._fd

    def close(self):
        if self._fd >= 0:
            fd, self._fd = self._fd, -1
            os.close(fd)

    def __del__(self):
        if getattr(self, "_fd", -1) >= 0:
            self.close()

    def __enter__(self):
        self._check()
        return self

    def __exit__(self, *_):
        self.close()

    def _control(self, what, fd, eventmask=0):
        self._check()
        fd = _number(fd)
        frame = Frame()
        door.call("epoll_ctl", self._fd, what, fd, frame.data(_EVENT.pack(eventmask, fd)), frame=frame)

    def register(self, fd, eventmask=EPOLLIN | EPOLLPRI | EPOLLOUT):
        self._control(_ADD, fd, eventmask)

    def modify(self, fd, eventmask):
        self._control(_MODIFY, fd, eventmask)

    def unregister(self, fd):
        self._control(_DELETE, fd)

    def poll(self, timeout=None, maxevents=-1):
        self._check()
        if maxevents < -1 or maxevents == 0:
            raise ValueError(f"maxevents must be greater than 0, got {maxevents}")
        seconds = None if timeout is None or timeout < 0 else timeout
        most = _MOST_EVENTS if maxevents == -1 else min(maxevents, _MOST_EVENTS)
        return scheduler.wait_ready(lambda some: self._wait(some, most), seconds, {self._fd: POLLIN}) or []

    def _wait(self, seconds, most):
        end = None if seconds is None else time.monotonic() + seconds
        while True:
            frame = Frame()
            room = frame.space(most * _EVENT.size)
            left = -1 if end is None else max(0, math.ceil((end - time.monotonic()) * 1000))
            result, buffer = raw("epoll_pwait", self._fd, room, most, left, 0, 8, frame=frame)
            if result >= 0:
                at = door.HEADER_SIZE + int(room)
                return [(fd, events) for events, fd in _EVENT.iter_unpack(buffer[at:at + result * _EVENT.size])]
            if result != -_EINTR:
                raise door.error(-result)


class EpollSelector(selectors._PollLikeSelector):
    """Epoll-based selector. It waits for its descriptor as the other selectors wait for theirs, so that a wake ends it."""

    seen = 0
    _selector_cls, _EVENT_READ, _EVENT_WRITE = epoll, EPOLLIN, EPOLLOUT

    def fileno(self):
        return self._selector.fileno()

    def select(self, timeout=None):
        most = max(len(self._fd_to_key), 1)
        ready = []
        if timeout is None or timeout > 0:
            _wait({self._selector.fileno(): POLLIN}, timeout, self)
        for fd, event in self._selector.poll(0, most):
            key = self._fd_to_key.get(fd)
            if key:
                events = (event & ~EPOLLIN and selectors.EVENT_WRITE) | (event & ~EPOLLOUT and selectors.EVENT_READ)
                ready.append((key, events & key.events))
        return ready

    def close(self):
        self._selector.close()
        super().close()


epoll.__module__ = "select"
EpollSelector.__module__ = "selectors"


def install():
    scheduler.poll_all = _wait_for_all
    for name, value in list(globals().items()):
        if name.startswith("EPOLL"):
            setattr(_select, name, value)
    _select.epoll, selectors.EpollSelector = epoll, EpollSelector
    for name, value in globals().items():
        if name.startswith("POLL"):
            setattr(_select, name, value)
    _select.poll, _select.select = poll, select
    cls = selectors.PollSelector
    cls._selector_cls, cls._EVENT_READ, cls._EVENT_WRITE = _SelectorPoll, POLLIN, POLLOUT
    selectors.DefaultSelector = cls
    selectors.SelectSelector._select, selectors.SelectSelector.seen = _selector_select, 0
