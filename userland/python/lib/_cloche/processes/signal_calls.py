"""What the interpreter's `signal` lacks: timers, masks, waiting."""
import _signal
import _thread
import enum
import os
import signal
import struct
import time

from ..host import state
from ..host.door import HEADER_SIZE, Frame, call, call_data, error as os_error, raw
from ..threads import scheduler
from . import trip
from .posix_processes import own_set_handler

ITIMER_REAL, ITIMER_VIRTUAL, ITIMER_PROF = 0, 1, 2
SIG_BLOCK, SIG_UNBLOCK, SIG_SETMASK = 0, 1, 2
_TIMER = struct.Struct("<iiii")  # interval and value, in seconds and microseconds
_HIGHEST = 64

SIGCLD, SIGRTMIN, SIGRTMAX = 17, 34, 64

ItimerError = OSError


def _pair(seconds):
    whole = int(seconds)
    return whole, int((seconds - whole) * 1e6)


def _timer(data, at):
    every, every_us, left, left_us = _TIMER.unpack_from(data, at)
    return left + left_us / 1e6, every + every_us / 1e6


def setitimer(which, seconds, interval=0.0, /):
    """Sets a timer; what it was before, as (seconds left, interval)."""
    if seconds < 0 or interval < 0:
        raise ItimerError(22, "Invalid argument")
    frame = Frame()
    new = frame.data(_TIMER.pack(*_pair(interval), *_pair(seconds)))
    room = frame.space(_TIMER.size)
    _, data = call_data("setitimer", which, new, room, frame=frame)
    return _timer(data, int(room))


def getitimer(which, /):
    frame = Frame()
    room = frame.space(_TIMER.size)
    _, data = call_data("getitimer", which, room, frame=frame)
    return _timer(data, int(room))


def alarm(seconds, /):
    """SIGALRM in so many seconds; how many were left of the alarm before."""
    left, _ = setitimer(ITIMER_REAL, seconds)
    return int(left) + (left % 1 > 0)


def pause():
    """Sleeps until a signal's handler has run."""
    if not scheduler.busy():
        raw("ppoll", 0, 0, 0, 0, 0)
        return
    has_run = False

    def noting(handler):
        def note(number, frame):
            nonlocal has_run
            has_run = True
            return handler(number, frame)
        return note

    handlers = {number: _signal.getsignal(number) for number in range(1, _signal.NSIG) if number not in scheduler.OWN_SIGNALS}
    notes = {number: noting(handler) for number, handler in handlers.items() if callable(handler)}
    try:
        for number, note in notes.items():
            own_set_handler(number, note)
        scheduler.wait(lambda: has_run)
    finally:
        for number, note in notes.items():
            if _signal.getsignal(number) is note:
                own_set_handler(number, handlers[number])


def _bits(signals):
    value = 0
    for number in signals:
        if not 1 <= number <= _HIGHEST:
            raise ValueError(f"signal number {int(number)} out of range [1; {_HIGHEST}]")
        value |= 1 << number - 1
    return value


_MASKABLE = (1 << _HIGHEST) - 1 & ~_bits(scheduler.OWN_SIGNALS)  # as the C library keeps its own from programs


def _as_set(value):
    return {_named(number) for number in range(1, _HIGHEST + 1) if value >> number - 1 & 1}


def _named(number):
    try:
        return signal.Signals(number)
    except ValueError:
        return number


def _process_mask(how, bits):
    """Changes the process's mask; what it was before."""
    frame = Frame()
    new = frame.data(struct.pack("<Q", bits))
    room = frame.space(8)
    _, data = call_data("rt_sigprocmask", how, new, room, 8, frame=frame)
    return struct.unpack_from("<Q", data, int(room))[0]


def pthread_sigmask(how, mask, /):
    """The process's mask is the main thread's, to which its signals come. Other threads keep what they say for themselves."""
    bits = _bits(mask) & _MASKABLE
    if scheduler.is_main() or state.in_child:
        return _as_set(_process_mask(how, bits))
    if how not in (SIG_BLOCK, SIG_UNBLOCK, SIG_SETMASK):
        raise os_error(22)
    strand = scheduler.running()
    bits &= ~_bits((_signal.SIGKILL, _signal.SIGSTOP))
    before = _process_mask(SIG_BLOCK, 0) if strand.mask is None else strand.mask
    strand.mask = {SIG_BLOCK: before | bits, SIG_UNBLOCK: before & ~bits, SIG_SETMASK: bits}[how]
    return _as_set(before)


def sigpending():
    frame = Frame()
    room = frame.space(8)
    _, data = call_data("rt_sigpending", room, 8, frame=frame)
    return _as_set(struct.unpack_from("<Q", data, int(room))[0])


class struct_siginfo(tuple):
    """What sigwaitinfo tells of a signal."""

    __slots__ = ()
    si_signo = property(lambda self: self[0])
    si_code = property(lambda self: self[1])
    si_errno = property(lambda self: self[2])
    si_pid = property(lambda self: self[3])
    si_uid = property(lambda self: self[4])
    si_status = property(lambda self: self[5])
    si_band = property(lambda self: self[6])


def _take(sigset, seconds):
    """The next of these signals as (number, information); None where the time was over first."""
    if scheduler.busy() and seconds != 0:
        return _look_for(sigset, None if seconds is None else time.monotonic() + seconds)
    end = None if seconds is None else time.monotonic() + seconds
    while True:
        frame = Frame()
        wanted, room, limit = frame.data(struct.pack("<Q", _bits(sigset))), frame.space(128), 0
        if end is not None:
            left = max(0.0, end - time.monotonic())
            limit = frame.data(struct.pack("<qq", int(left), int(left % 1 * 1e9)))
        result, buffer = raw("rt_sigtimedwait", wanted, room, limit, 8, frame=frame)
        if result > 0:
            number, error, code, pid, uid, status = struct.unpack_from("<iiiiii", buffer, HEADER_SIZE + int(room))
            return result, struct_siginfo((number, code, error, pid, uid, status, 0))
        if result == -11:
            return None
        if result != -4:
            raise os_error(-result)


def _look_for(sigset, end):
    """The same, while other threads run."""
    found = None

    def look():
        nonlocal found
        found = _take(sigset, 0)
        return found is not None or end is not None and time.monotonic() >= end

    scheduler.look_until(look)
    return found


def sigwait(sigset, /):
    return _named(_take(sigset, None)[0])


def sigwaitinfo(sigset, /):
    return _take(sigset, None)[1]


def sigtimedwait(sigset, timeout, /):
    if timeout < 0:
        raise ValueError("timeout must be non-negative")
    taken = _take(sigset, timeout)
    return None if taken is None else taken[1]


def pthread_kill(thread_id, signalnum, /):
    """All threads are the process's one."""
    os.kill(os.getpid(), signalnum)


def valid_signals():
    return _as_set(_MASKABLE)


def siginterrupt(signalnum, flag, /):
    """Calls are made again after a handler in any case (PEP 475)."""


_raise = _signal.raise_signal
_interrupt = _thread.interrupt_main


def raise_signal(signalnum, /):
    """Handlers run in the main thread, whoever raises."""
    if scheduler.is_main():
        _raise(signalnum)
    else:
        call("kill", state.pid, signalnum)


def interrupt_main(signum=_signal.SIGINT, /):
    """_thread.interrupt_main"""
    if scheduler.is_main():
        _interrupt(signum)
    elif callable(_signal.getsignal(signum)):
        call("kill", state.pid, signum)


_TEXTS = {
    1: "Hangup", 2: "Interrupt", 3: "Quit", 4: "Illegal instruction", 5: "Trace/breakpoint trap", 6: "Aborted", 7: "Bus error",
    8: "Floating point exception", 9: "Killed", 10: "User defined signal 1", 11: "Segmentation fault", 12: "User defined signal 2",
    13: "Broken pipe", 14: "Alarm clock", 15: "Terminated", 16: "Stack fault", 17: "Child exited", 18: "Continued",
    19: "Stopped (signal)", 20: "Stopped", 21: "Stopped (tty input)", 22: "Stopped (tty output)", 23: "Urgent I/O condition",
    24: "CPU time limit exceeded", 25: "File size limit exceeded", 26: "Virtual timer expired", 27: "Profiling timer expired",
    28: "Window changed", 29: "I/O possible", 30: "Power failure", 31: "Bad system call",
}


def strsignal(signalnum, /):
    if not 1 <= signalnum <= _HIGHEST:
        raise ValueError(f"signal number {int(signalnum)} out of range [1; {_HIGHEST}]")
    return _TEXTS.get(signalnum)


def abort():
    """os.abort: SIGABRT, whatever handler there is."""
    frame = Frame()
    raw("rt_sigaction", 6, frame.data(bytes(16)), 0, 8, frame=frame)
    call("kill", os.getpid(), 6)


def start_process():
    """What CPython does at its start: a write to a pipe that nobody reads fails with BrokenPipeError instead of ending the process, and
    SIGINT is KeyboardInterrupt, unless whoever started it had it ignored."""
    for number in (_signal.SIGPIPE, _signal.SIGXFSZ):
        trip.set_action(number, _signal.SIG_IGN)
    frame = Frame()
    _, data = call_data("rt_sigaction", _signal.SIGINT, 0, frame.space(16), 8, frame=frame)
    if data[0] == 1:
        _signal.signal(_signal.SIGINT, _signal.SIG_IGN)
    else:
        trip.set_action(_signal.SIGINT, _signal.getsignal(_signal.SIGINT))


_PUBLIC = ("ITIMER_REAL ITIMER_VIRTUAL ITIMER_PROF SIG_BLOCK SIG_UNBLOCK SIG_SETMASK ItimerError setitimer getitimer alarm pause "
           "pthread_sigmask valid_signals siginterrupt strsignal sigpending struct_siginfo sigwait sigwaitinfo sigtimedwait "
           "pthread_kill SIGCLD SIGRTMIN SIGRTMAX").split()


def _add_member(name, number):
    """One more of the signals that have names."""
    known = signal.Signals._value2member_map_.get(number)
    if known is None:
        known = int.__new__(signal.Signals, number)
        known._name_, known._value_, known.__objclass__ = name, number, signal.Signals
        signal.Signals._value2member_map_[number] = known
        signal.Signals._member_names_.append(name)
    signal.Signals._member_map_[name] = known
    type.__setattr__(signal.Signals, name, known)
    return known


def install():
    for name in ("SIGCLD", "SIGRTMIN", "SIGRTMAX"):
        globals()[name] = _add_member(name, globals()[name])
    signal.Sigmasks = enum.IntEnum("Sigmasks", {name: globals()[name] for name in ("SIG_BLOCK", "SIG_UNBLOCK", "SIG_SETMASK")},
                                   module="signal")
    for name in _PUBLIC:
        value = getattr(signal.Sigmasks, name, globals()[name])
        if hasattr(value, "__code__"):
            value.__module__ = "signal"
        setattr(signal, name, value)
        if not hasattr(_signal, name):
            setattr(_signal, name, value)
        if name not in getattr(signal, "__all__", [name]):
            signal.__all__.append(name)
    os.abort = abort
    signal.raise_signal = _signal.raise_signal = raise_signal
    _thread.interrupt_main = interrupt_main
    for number in (_signal.SIGPIPE, _signal.SIGXFSZ):
        _signal.signal(number, _signal.SIG_IGN)
