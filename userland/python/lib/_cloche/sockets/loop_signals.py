"""What asyncio's loop learns by signals: the ends of its children, and what add_signal_handler asks for. A handler of ours runs when
the loop's wait is interrupted, and the loop takes a turn after that.
"""
import os
import signal
from asyncio import events, unix_events

from . import polling

_watched = {}  # pid -> (loop, callback, arguments)
_looking = {}  # pid -> whether to look again
_before = None  # the handler of SIGCHLD that was there


def _add_child_handler(self, pid, callback, *args):
    """Child watchers' add_child_handler."""
    global _before
    if not _watched:
        _before = signal.signal(signal.SIGCHLD, _on_child)
    _watched[pid] = (events.get_running_loop(), callback, args)
    _look(pid)


def _look(pid):
    """Tells the loop when the child has ended."""
    global _before
    if pid in _looking:
        _looking[pid] = True  # a handler, in the midst of a look, which is taken again
        return
    while True:
        _looking[pid] = False
        try:
            ended = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        except ChildProcessError:
            ended = True  # somebody else has waited for it
        if ended or not _looking[pid]:
            break
    watched = _watched.pop(pid, None) if ended else None
    again = _looking.pop(pid)
    if watched is None:
        return _look(pid) if again and not ended else None
    loop, callback, args = watched
    if loop.is_closed():
        _reap(pid)
    else:
        loop.call_soon(_tell, pid, callback, args)
        polling.wake()
    if not _watched:
        before, _before = _before, None
        signal.signal(signal.SIGCHLD, signal.SIG_DFL if before is None else before)


def _reap(pid):
    try:
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    except ChildProcessError:
        return 255


def _tell(pid, callback, args):
    """The child's number is its own until the loop knows of its end: what is sent to it meanwhile meets nobody else."""
    callback(pid, _reap(pid), *args)


def _on_child(number, frame):
    before = _before
    for pid in list(_watched):
        _look(pid)
    if callable(before):
        before(number, frame)


def _add_signal_handler(self, sig, callback, *args):
    self._check_signal(sig)
    self._check_closed()
    handle = events.Handle(callback, args, self, None)
    self._signal_handlers[sig] = handle
    try:
        signal.signal(sig, lambda number, frame: self._handle_signal(number))
    except OSError as error:
        del self._signal_handlers[sig]
        raise RuntimeError(f"sig {sig} cannot be caught") from error


def _handle_signal(self, sig):
    handle = self._signal_handlers.get(sig)
    if handle is None:
        return
    if handle._cancelled:
        self.remove_signal_handler(sig)
    else:
        self._ready.append(handle)
        polling.wake()


def _remove_signal_handler(self, sig):
    self._check_signal(sig)
    if self._signal_handlers.pop(sig, None) is None:
        return False
    signal.signal(sig, signal.default_int_handler if sig == signal.SIGINT else signal.SIG_DFL)
    return True


def install():
    for name in ("_ThreadedChildWatcher", "ThreadedChildWatcher"):
        watcher = getattr(unix_events, name, None)
        if watcher is not None:
            watcher.add_child_handler = _add_child_handler
    loop = unix_events._UnixSelectorEventLoop
    loop.add_signal_handler, loop._handle_signal, loop.remove_signal_handler = _add_signal_handler, _handle_signal, _remove_signal_handler
