"""Threads of the interpreter: each has a stack of its own, and one of them runs at a time.

The host makes the stacks and hands over from one to another when it is asked to (src/python/interpreter_threads.h); who goes on is
decided here. A thread lets others run wherever it waits: for a lock, a condition, a queue, another thread's end, a descriptor, a child,
the time; and at a tick, a few times each hundredth of a second, while it computes. What it waits for is said by a predicate, a moment
and descriptors, which whoever else waits looks at. Where nobody can go on the process sleeps in the kernel, for all of them.

    start() ------> running <------------------+
      | no stack       | wait()                 | what it waits for is there: _next() finds it
      v is free        v                        |
    queued          waiting --------------------+          its function returns: ended

C code that waits for a lock of its own lets others run without asking here, so whose turn it is comes from CPython's thread state and
is no variable of this module.

Signals are the main thread's: one that comes while another runs lets the main one look.
"""
import _signal
import _thread
import errno
import itertools
import os
import stat
import struct
import sys
import time
from collections import deque

import _host
import _waits

from .. import FOLDER
from ..host import door, posix_calls, state

TICK, LATER = OWN_SIGNALS = 33, 32  # signals that Linux keeps for its own threads
_HOST_SIGNALS = range(60, 64)  # by which the host stops an execution: sessions/interrupts.py
_INTERVAL = 5  # milliseconds between two ticks
_LOOK = 0.001  # seconds between looks at descriptors while others can run
_HEAR = 0.01  # seconds that the main thread, of which signals are, goes without a turn while others can run
_POLLIN, _POLLOUT, _SPLICE_F_NONBLOCK = 1, 4, 2
_NAP, _LONGEST_NAP = 0.0005, 0.02  # seconds between looks at what nothing tells of
MOST = 128  # threads beside the main one that have a stack at the same time

_real_sleep = posix_calls.sleep
_start_stack = _thread.start_new_thread
_idents = itertools.count(2)


class Strand:
    """A thread before its end."""

    __slots__ = ("number", "ident", "body", "daemon", "handle", "waits", "ready", "end", "fds", "found", "ended", "inside", "mask")

    def __init__(self, ident, body=None, daemon=False, handle=None):
        self.number = 0  # of its stack
        self.ident, self.body, self.daemon, self.handle = ident, body, daemon, handle
        self.waits = self.found = self.ended = False
        self.ready = self.end = self.fds = None
        self.inside = False  # the scheduler decides for it: no tick changes the thread
        self.mask = None  # signals that it has said to block; None: the process's


class _Own(_thread._local):
    """Of each of CPython's threads."""

    strand = Strand(_thread.get_ident())  # of one whose values have been cleared, at its end
    strand.ended = strand.inside = True


_main = Strand(_thread.get_ident())
_own = _Own()
_own.strand = _main
_strands = [_main]  # those that have a stack, in turn
_queued = deque()
_looked = _heard = 0.0
_late = None  # an exception
_before_main = None  # whose turn it was when the main thread had one only to hear of signals
poll_all = None  # sockets/polling.py: {descriptor: events} of those that are ready, None where a signal came


class Handle:
    """What a Thread knows its thread by."""

    def __init__(self, ident=None):
        self.ident = ident
        self._ended = False

    def is_done(self):
        return self._ended

    def _set_done(self):
        self._ended = True

    def join(self, timeout=None, /):
        if self.ident is None:
            raise RuntimeError("thread not started")
        if self.ident == _own.strand.ident:
            raise RuntimeError("Cannot join current thread")
        if not self._ended:
            wait_until(self.is_done, None if timeout is None or timeout < 0 else timeout)


def busy():
    """Whether there is any thread but the main one."""
    return len(_strands) > 1


def is_main():
    return _own.strand is _main


def running():
    return _own.strand


def get_ident():
    return _own.strand.ident


def start(body, handle=None, daemon=True):
    """Begins a thread; it has its first turn when this one waits or a tick comes. Its ident."""
    strand = Strand(next(_idents), body, daemon, handle)
    if handle is not None:
        handle.ident = strand.ident
    if len(_strands) > MOST:
        _queued.append(strand)
    else:
        _launch(strand)
    if state.signal_words is not None:
        _tick_again()
    return strand.ident


def waits_for_a_stack(ident):
    """Of the thread that was started last."""
    return bool(_queued) and _queued[-1].ident == ident


def _share():
    """There is another thread than the main one."""
    _waits.set(before_read, before_write, before_lock, opener_of, before_line, raise_later)
    posix_calls.open_beside = open_beside


def _share_no_more():
    _waits.set(None, None, None, None, None, None)
    posix_calls.open_beside = None


def _launch(strand):
    if len(_strands) == 1:
        _share()
    strand.number = _start_stack(_enter, (strand,))
    _strands.append(strand)


def _enter(strand):
    """The first function on a stack."""
    _own.strand = strand
    strand.inside = True
    _switch(strand)  # the host learns which of CPython's threads this is
    strand.inside = False
    try:
        strand.body()
    except SystemExit:
        pass
    finally:
        strand.inside = True
        strand.ended, strand.body = True, None
        _strands.remove(strand)
        if len(_strands) == 1:
            _share_no_more()
        if strand.handle is not None:
            strand.handle._set_done()
        _host.call(bytearray(b"end0"))


def _switch(strand):
    _host.call(bytearray(b"swt0" + strand.number.to_bytes(4, "little")))


def _tick_again():
    _host.call(bytearray(b"tck0") + struct.pack("<II", _INTERVAL, TICK))


def _tick(number, frame):
    """A tick's handler, in the thread that computes."""
    if len(_strands) > 1:
        _tick_again()
    own = _own.strand
    if own.inside or frame is None or frame.f_code.co_filename.startswith(("<frozen importlib", FOLDER)):
        return
    own.inside = True
    try:
        other = _next(own)
        if other is None and own is not _main:
            other = _main  # a signal may have come
        if other is not None and not own.ended:
            _switch(other)
    finally:
        own.inside = False


def _next(own):
    """Another thread that can go on."""
    global _looked, _heard, _before_main
    while _queued and len(_strands) <= MOST:
        _launch(_queued.popleft())
    count = len(_strands)
    if count == 1:
        return None if own is _main else _main
    at = _strands.index(own) if not own.ended else 0
    now = time.monotonic()
    if own is _main:
        _heard = now
        if _before_main in _strands:
            at = _strands.index(_before_main)
        _before_main = None
    elif now - _heard > _HEAR:
        _heard, _before_main = now, own
        return _main
    if now - _looked > _LOOK:
        _looked = now
        _look(0)
    for strand in itertools.chain(itertools.islice(_strands, at + 1, None), itertools.islice(_strands, at + 1)):
        if strand is not own and (not strand.waits or strand.found or (strand.end is not None and now >= strand.end)
                                  or (strand.ready is not None and strand.ready())):
            return strand
    return None


def _look(seconds, is_over=None):
    """Asks the kernel for the descriptors that threads wait for, so long at most; False where a signal or `is_over` has ended that."""
    wanted = {}
    for strand in _strands:
        if strand.waits and strand.fds:
            for fd, events in strand.fds.items():
                wanted[fd] = wanted.get(fd, 0) | events
    if not wanted and seconds == 0:
        return True
    found = poll_all(wanted, seconds, is_over)
    if found is None:
        return False
    if found:
        for strand in _strands:
            if strand.waits and strand.fds and not found.keys().isdisjoint(strand.fds):
                strand.found = True
    return True


def _sleep_for_all(own):
    """Nobody can go on."""
    ends = [strand.end for strand in _strands if strand.end is not None]
    if not ends and not any(strand.fds for strand in _strands) and not _handled():
        if own is not _main:
            return _switch(_main)  # who tells
        raise RuntimeError("deadlock: every thread waits for another one")
    undisturbed = _look(max(0.0, min(ends) - time.monotonic()) if ends else None, _somebody_is_ready)
    if not undisturbed and own is not _main:
        _switch(_main)


def _somebody_is_ready():
    """A handler may have done what a thread waits for since that has looked."""
    return any(strand.found or strand.ready is not None and strand.ready() for strand in _strands)


def _handled():
    """Whether a signal's handler may end a wait: one of the program's."""
    numbers = (number for number in range(1, _signal.NSIG) if number not in OWN_SIGNALS and number not in _HOST_SIGNALS)
    return any(callable(handler) and handler is not _signal.default_int_handler for handler in map(_signal.getsignal, numbers))


def wait(ready=None, end=None, fds=None):
    """Lets others run until `ready()`, the moment `end` or an event of `fds`; whether it was not the moment."""
    own = _own.strand
    kept = own.inside, own.waits, own.ready, own.end, own.fds, own.found
    own.inside, own.waits, own.ready, own.end, own.fds, own.found = True, True, ready, end, fds, False
    try:
        while True:
            if own.found or (ready is not None and ready()):
                return True
            if end is not None and time.monotonic() >= end:
                return False
            other = _next(own)
            if other is not None:
                _switch(other)
            elif not own.found:
                _sleep_for_all(own)
    finally:
        own.inside, own.waits, own.ready, own.end, own.fds, own.found = kept


def wait_until(ready, timeout=None):
    """Waits until `ready()`, at most for `timeout` seconds; whether it came true."""
    return ready() or wait(ready, None if timeout is None else time.monotonic() + timeout)


def wait_ready(poll, timeout=None, fds=None, ready=None):
    """Waits for descriptors: `poll(seconds)` tells what of `fds` is ready after so long, something false for nothing, None where a
    signal has ended the wait. `ready()` ends it too."""
    if not busy():
        return poll(timeout)
    end = None if timeout is None else time.monotonic() + timeout
    while True:
        found = poll(0)
        if found or found is None or (end is not None and time.monotonic() >= end) or (ready is not None and ready()):
            return found
        wait(ready, end, fds)


def look_until(done):
    """Others run until `done()`, of which nothing tells: it is looked at in growing pauses."""
    pause = _NAP
    while not done():
        wait(None, time.monotonic() + pause)
        pause = min(2 * pause, _LONGEST_NAP)


def before_read(fd):
    """Others run until a read of the descriptor has not to wait. C code calls this, too."""
    _until(fd, _POLLIN)


def before_write(fd):
    """The same until there is some room."""
    _until(fd, _POLLOUT)


def before_lock():
    """The same for a while, for C code that waits for what another thread has."""
    wait(None, time.monotonic() + _NAP)


def before_line(prompt):
    """C code that shows a prompt and reads a line of the terminal: others run until there is one."""
    while prompt:
        prompt = prompt[os.write(2, prompt):]
    before_read(0)


def raise_later(error):
    """What a signal's handler has raised in the midst of a write is raised when that has told how much it has written: by a signal that
    C code notes."""
    global _late
    if not is_main():
        raise error
    _late = error
    return LATER


def _raise_late(number, frame):
    global _late
    error, _late = _late, None
    if error is not None:
        raise error


def opener_of(file):
    """What C code opens this with; None for as usual."""
    try:
        return None if isinstance(file, int) or not stat.S_ISFIFO(os.stat(file).st_mode) else os.open
    except (OSError, TypeError, ValueError):
        return None


def open_beside(name, flags, mode, dir_fd):
    """Opens a named pipe: others run until somebody has its other end. None: it is something that does not wait."""
    access = flags & os.O_ACCMODE
    if flags & os.O_NONBLOCK or access == os.O_RDWR:
        return None
    try:
        if not stat.S_ISFIFO(os.stat(name, dir_fd=dir_fd).st_mode):
            return None
    except (OSError, ValueError):
        return None
    fd = -1

    def is_met():
        nonlocal fd
        if access == os.O_RDONLY:
            return _has_writer(fd)
        try:
            fd = os.open(name, flags | os.O_NONBLOCK, mode, dir_fd=dir_fd)
        except OSError as problem:
            if problem.errno != errno.ENXIO:
                raise
        return fd >= 0

    try:
        if access == os.O_RDONLY:
            fd = os.open(name, flags | os.O_NONBLOCK, mode, dir_fd=dir_fd)
        look_until(is_met)
        os.set_blocking(fd, True)
    except BaseException:
        if fd >= 0:
            os.close(fd)
        raise
    return fd


def _has_writer(fd):
    """Whether somebody writes to this pipe, or has. What reads nothing where nobody does has to wait where somebody may."""
    if poll_all({fd: _POLLIN}, 0):
        return True
    ends = os.pipe()
    try:
        return door.raw("tee", fd, ends[1], 1, _SPLICE_F_NONBLOCK)[0] != 0
    finally:
        os.close(ends[0])
        os.close(ends[1])


def _until(fd, events):
    while wait_ready(lambda seconds: poll_all({fd: events}, seconds), None, {fd: events}) is None:
        pass  # a signal, whose handler has returned


def sleep(seconds, /):
    if len(_strands) == 1:
        return _real_sleep(seconds)
    _real_sleep(0 if seconds >= 0 else seconds)  # what it says of what is no number of seconds
    if seconds != seconds:
        _real_sleep(seconds)
    wait(None, time.monotonic() + seconds) if seconds > 0 else pause()


def pause():
    """Others have a turn."""
    own = _own.strand
    before, own.inside = own.inside, True
    try:
        if (other := _next(own)) is not None:
            _switch(other)
    finally:
        own.inside = before


def may_change():
    """Whether the running thread is none that must not change now."""
    return not _own.strand.inside


class alone:
    """No tick changes the thread within."""

    def __enter__(self):
        self._strand = _own.strand
        self._before, self._strand.inside = self._strand.inside, True

    def __exit__(self, *_):
        self._strand.inside = self._before


def pending():
    """Whether something is left that has to run before the process ends."""
    return any(not strand.daemon for strand in (*_strands, *_queued) if strand is not _main)


def run_pending():
    """At the end of the process: threads that are no daemons run to their end."""
    wait_until(lambda: not pending())


def forget_others():
    """In a fork, and in a program that begins in an image: only the main thread goes on."""
    threading = sys.modules.get("threading")
    for strand in (*_strands, *_queued):
        if strand is _main:
            continue
        if strand.handle is not None:
            strand.handle._set_done()
        if threading is not None:
            threading._active.pop(strand.ident, None)
    _strands[:] = [_main]
    _queued.clear()
    _share_no_more()


def begin_turn():
    """A turn of a session begins, with threads of those before it."""
    if len(_strands) > 1:
        _tick_again()


def install():
    _signal.signal(TICK, _tick)
    _signal.signal(LATER, _raise_late)
