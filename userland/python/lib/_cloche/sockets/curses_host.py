"""What ncurses, which is a part of the interpreter, asks of it (userland/python/extensions/terminal.c): waits in which other threads and
handlers of signals run, and handlers of its own, which thus are handlers of Python like all others."""
import signal

from ..threads import scheduler
from . import polling

_DEFAULT, _IGNORED, _FOREIGN = 0, 1, 2  # addresses that are no function of ncurses; the last for a handler that is a program's own
_kept = {}  # those
_handled = 0


class Handler:
    """A function of ncurses as a handler."""

    __slots__ = ("address", "_run")

    def __init__(self, address, run):
        self.address, self._run = address, run

    def __call__(self, number, frame):
        global _handled
        _handled += 1
        self._run(self.address, number)


def _address(number):
    """Of what handles a signal by now."""
    handler = signal.getsignal(number)
    if isinstance(handler, Handler):
        return handler.address
    if callable(handler) and not isinstance(handler, signal.Handlers):
        _kept[number] = handler
        return _FOREIGN
    return _IGNORED if handler is signal.SIG_IGN else _DEFAULT


def action(number, address, run):
    """sigaction: the handler's address before, -1 where it cannot be set here. With None it is only asked for."""
    before = _address(number)
    if address is None:
        return before
    if address > _FOREIGN:
        handler = Handler(address, run)
    elif address == _FOREIGN:
        handler = _kept.get(number, signal.SIG_DFL)
    else:
        handler = signal.SIG_IGN if address == _IGNORED else signal.SIG_DFL
    try:
        signal.signal(number, handler)
    except (ValueError, OSError):  # not the main thread
        return -1
    return before


def wait(wanted, milliseconds):
    """{descriptor: events} of those that are ready, nothing after so many milliseconds (never where they are negative), None where a
    signal has ended the wait."""
    seconds = None if milliseconds < 0 else milliseconds / 1000
    before = _handled
    found = scheduler.wait_ready(lambda some: polling.look(wanted, some), seconds, wanted, lambda: _handled != before)
    return None if found is None or (not found and _handled != before) else found
