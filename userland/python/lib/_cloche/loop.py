"""asyncio's event loop, fitted to an interpreter of one thread: its selector waits in the kernel's poll, and nothing has to wake it
from another thread, so there is no pair of sockets for that. What asyncio gives to a thread pool runs in the loop itself.
"""
import asyncio
import selectors
from asyncio import base_events, futures, selector_events


def _no_self_pipe(self):
    self._ssock = self._csock = None


def _nothing(self, *_):
    pass


def _run_here(self, executor, function, *args):
    """loop.run_in_executor: without threads the function runs at the loop's next turn, and the loop waits for it."""
    self._check_closed()
    if executor is not None and type(executor).__module__ != "concurrent.futures.thread":
        return futures.wrap_future(executor.submit(function, *args), loop=self)
    future = self.create_future()

    def run():
        if future.cancelled():
            return
        try:
            result = function(*args)
        except (SystemExit, KeyboardInterrupt):
            raise
        except BaseException as error:
            future.set_exception(error)
        else:
            future.set_result(result)

    self.call_soon(run)
    return future


def install():
    loop = selector_events.BaseSelectorEventLoop
    loop._make_self_pipe = _no_self_pipe
    loop._close_self_pipe = _nothing
    loop._write_to_self = _nothing
    base_events.BaseEventLoop.run_in_executor = _run_here
    selectors.DefaultSelector = getattr(selectors, "PollSelector", selectors.SelectSelector)


_own = None


def session_loop():
    """The loop of a session: what its tasks live in from one execution to the next."""
    global _own
    if _own is None or _own.is_closed():
        _own = asyncio.new_event_loop()
    return _own
