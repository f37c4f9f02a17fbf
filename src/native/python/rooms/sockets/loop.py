# SPDX-License-Identifier: Apache-2.0
"""The event loop of a session: asyncio's own, which can do without its descriptors and get others."""
import asyncio
import selectors
import signal
import sys


class _Loop(asyncio.SelectorEventLoop):
    if sys.version_info < (3, 11):

        def create_task(self, coro, *, name=None, context=None):
            if context is None:
                return super().create_task(coro, name=name)
            return context.run(super().create_task, coro, name=name)  # which works in a copy of it


_own = None


def session_loop():
    """What the session's tasks live in from one execution to the next."""
    global _own
    if _own is None or _own.is_closed():
        _own = _Loop()
    return _own


def begin_anew():
    """Other descriptors, for those that are gone. What the code has watched is no longer watched."""
    _own._internal_fds = 0
    _own._selector = selectors.DefaultSelector()
    _own._make_self_pipe()
    if _own._signal_handlers:
        signal.set_wakeup_fd(_own._csock.fileno())
