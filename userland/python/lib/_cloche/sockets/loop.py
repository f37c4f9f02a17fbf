"""asyncio's event loop: its selector waits in the kernel's poll, and another thread or a signal's handler wakes it by a count that it
looks at, so there is no pair of sockets for that.
"""
import asyncio
import contextlib
import functools
import selectors
import threading
from asyncio import base_events, selector_events

from . import names, polling


def _no_self_pipe(self):
    self._ssock = self._csock = None


def _nothing(self, *_):
    pass


def _wake(self):
    """call_soon_threadsafe, from a signal's handler or another thread."""
    polling.wake()


async def _getaddrinfo(self, host, port, *, family=0, type=0, proto=0, flags=0):
    """A thread of its own asks for a name, while the loop goes on: the threads of a pool are not there in a session's fork."""
    import socket
    ask = functools.partial(socket.getaddrinfo, host, port, family, type, proto, flags)
    if not isinstance(host, str) or names.literal(host.partition("%")[0]):
        return ask()
    told = self.create_future()

    def tell(result, error):
        if not told.done():
            told.set_exception(error) if error else told.set_result(result)

    def look():
        result = error = None
        try:
            result = ask()
        except Exception as failure:
            error = failure
        with contextlib.suppress(RuntimeError):  # the loop is closed
            self.call_soon_threadsafe(tell, result, error)

    try:
        threading.Thread(target=look, name="asyncio-getaddrinfo", daemon=True).start()
    except RuntimeError:  # there are as many threads as there may be
        return ask()
    return await told


def install():
    loop = selector_events.BaseSelectorEventLoop
    loop._make_self_pipe = _no_self_pipe
    loop._close_self_pipe = _nothing
    loop._write_to_self = _wake
    base_events.BaseEventLoop.getaddrinfo = _getaddrinfo
    selectors.DefaultSelector = getattr(selectors, "PollSelector", selectors.SelectSelector)


_own = None


def session_loop():
    """The loop of a session: what its tasks live in from one execution to the next."""
    global _own
    if _own is None or _own.is_closed():
        _own = asyncio.new_event_loop()
    return _own
