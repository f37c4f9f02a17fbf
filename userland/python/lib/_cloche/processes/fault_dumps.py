"""What `faulthandler` does at a signal and after a time. Its own has a handler and a thread of C; these are a handler of Python and a
thread beside the program's, whose own lines are on top of what is dumped."""
import _signal
import faulthandler
import os
import sys
import time

from ..threads import scheduler
from .posix_processes import own_set_handler

_FATAL = {_signal.SIGSEGV, _signal.SIGFPE, _signal.SIGABRT, _signal.SIGBUS, _signal.SIGILL}
_registered = {}  # number: (our handler, the one before)
_watch = None  # of the dump to come


def _target(file):
    file = sys.stderr if file is None else file
    if file is None:
        raise RuntimeError("sys.stderr is None")
    return file


def register(signum, file=None, all_threads=True, chain=False, **named):
    if signum in _FATAL:
        raise RuntimeError(f"signal {signum} cannot be registered, use enable() instead")
    file = _target(file)

    def dump(number, frame):
        faulthandler.dump_traceback(file, all_threads, **named)
        if chain:
            _call_before(number, frame)

    before = _registered[signum][1] if signum in _registered else _signal.getsignal(signum)
    own_set_handler(signum, dump)
    _registered[signum] = dump, before


def _call_before(number, frame):
    dump, before = _registered[number]
    if callable(before):
        before(number, frame)
    elif before == _signal.SIG_DFL:
        own_set_handler(number, before)
        os.kill(os.getpid(), number)
        own_set_handler(number, dump)


def unregister(signum):
    if signum not in _registered:
        return False
    dump, before = _registered.pop(signum)
    if _signal.getsignal(signum) is dump:
        own_set_handler(signum, before)
    return True


def dump_traceback_later(timeout, repeat=False, file=None, exit=False, **named):
    global _watch
    if timeout <= 0:
        raise ValueError("timeout must be greater than 0")
    file = _target(file)
    minutes, seconds = divmod(timeout, 60)
    hours, minutes = divmod(int(minutes), 60)
    seconds = f"{seconds:09.6f}".removesuffix(".000000")
    head = f"Timeout ({hours}:{minutes:02}:{seconds})!\n".encode()
    watch = _watch = object()

    def watching():
        while not scheduler.wait(lambda: _watch is not watch, time.monotonic() + timeout):
            os.write(file if isinstance(file, int) else file.fileno(), head)
            faulthandler.dump_traceback(file, True, **named)
            if exit:
                os._exit(1)
            if not repeat:
                break

    scheduler.start(watching)


def cancel_dump_traceback_later():
    global _watch
    _watch = None


def install():
    for function in (register, unregister, dump_traceback_later, cancel_dump_traceback_later):
        function.__module__ = "faulthandler"
        setattr(faulthandler, function.__name__, function)
