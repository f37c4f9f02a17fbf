"""asyncio in a component: the loop is the one of componentize-py, which gives control to the host where everything waits.

It has neither timers nor tasks that outlive the call of an export; both are added here. There is one state for all calls that run
code, so what an execution leaves behind goes on in the next one. WASI 0.2 has no timer that a set of waitables could have beside the
callbacks: where both are waited for, this sleeps by turns, looks for events, and lets the host go on.
"""
import asyncio
import contextvars
import heapq
import time
from asyncio import base_events

import _waitables
import componentize_py_async_support as support


class _Futures(dict):
    """What callbacks in progress answer to. One that nobody waits for any more is answered all the same."""

    def pop(self, number):
        future = super().pop(number)
        return support._loop.create_future() if future.done() else future


_shared = support._FutureState(None, _Futures(), [], 0)
_timers = []  # a heap
_SHORTEST, _LONGEST = 0.0003, 0.01  # seconds of a turn: the longer nothing has happened, the longer
_turn = _SHORTEST
_first_poll = support.first_poll


def session_loop():
    return support._loop


def _poll(state):
    """As support._poll, for a state that stays."""
    global _turn
    while True:
        support._loop.poll(state)
        if state.pending_count == 0:
            return support._CallbackCode.EXIT
        wait = _fire()
        if state.handles:
            continue
        if not state.futures:
            if wait is None:
                raise RuntimeError("this waits for something that nothing can bring about")
            time.sleep(wait)
            continue
        if wait is not None and _take_events(state):
            _turn = _SHORTEST
            continue
        support.componentize_py_runtime.context_set(state)
        if wait is None:
            return support._CallbackCode.WAIT | state.waitable_set << 4
        time.sleep(min(wait, _turn))
        _turn = min(2 * _turn, _LONGEST)
        return support._CallbackCode.YIELD


def _take_events(state):
    taken = False
    while True:
        kind, waitable, status = _waitables.poll(state.waitable_set)
        if kind == support._Event.NONE:
            return taken
        if kind == support._Event.SUBTASK and status == support._Status.RETURNED:
            taken = True
            support.componentize_py_runtime.waitable_join(waitable, 0)
            support.componentize_py_runtime.subtask_drop(waitable)
            state.futures.pop(waitable).set_result(status)


def _fire():
    """Gives the loop what is due. The seconds until the next timer; None: there is none."""
    now = time.monotonic()
    while _timers and (_timers[0]._cancelled or _timers[0]._when <= now):
        handle = heapq.heappop(_timers)
        if not handle._cancelled:
            _shared.handles.append(handle)
    return _timers[0]._when - now if _timers else None


def first_poll(export_index, borrows, coroutine):
    if _shared.pending_count:
        return _first_poll(export_index, borrows, coroutine)  # which says that it is busy
    _shared.pending_count = 1
    context = contextvars.Context()
    context.run(support._set_future_state, _shared)
    asyncio.Task(support._return_result(export_index, borrows, coroutine), loop=support._loop, context=context)
    return _poll(_shared)


def busy():
    """Whether the call that asks came while another one runs."""
    return support._future_state.get() is not _shared


def is_own(task):
    """Whether a task is none of the user's: it runs an export."""
    return task.get_coro().__name__ == "_return_result"


def _call_soon(self, callback, *args, context=None):
    context = context or contextvars.copy_context()
    handle = asyncio.Handle(callback, args, self, context)
    context.get(support._future_state, _shared).handles.append(handle)
    return handle


def _call_at(self, when, callback, *args, context=None):
    handle = asyncio.TimerHandle(when, callback, args, self, context or contextvars.copy_context())
    handle._scheduled = True
    heapq.heappush(_timers, handle)
    return handle


def _call_later(self, delay, callback, *args, context=None):
    return _call_at(self, time.monotonic() + delay, callback, *args, context=context)


class _NestedLoop(base_events.BaseEventLoop):
    """For asyncio.run within an execution: tasks and timers, but nothing that the host brings, as nothing else runs meanwhile."""

    class _Selector:
        def select(self, timeout):
            if timeout is None:
                raise RuntimeError("asyncio.run in a component waits for timers only; await callbacks at the top level")
            if timeout > 0:
                time.sleep(timeout)
            return []

        def close(self):
            pass

    def __init__(self):
        super().__init__()
        self._selector = self._Selector()

    def _process_events(self, events):
        pass

    def _write_to_self(self):
        pass


class plain_code:
    """Around code without an await at its top level: for it no loop runs, so that asyncio.run does."""

    def __enter__(self):
        self._task = asyncio.tasks._swap_current_task(support._loop, None)
        asyncio.events._set_running_loop(None)

    def __exit__(self, *_):
        asyncio.events._set_running_loop(support._loop)
        asyncio.tasks._swap_current_task(support._loop, self._task)


def install():
    kind = type(support._loop)
    kind.call_soon = kind.call_soon_threadsafe = _call_soon
    kind.call_at, kind.call_later = _call_at, _call_later
    kind._timer_handle_cancelled = lambda self, handle: None  # the heap drops it when its time comes
    kind.time = lambda self: time.monotonic()
    kind.default_exception_handler = base_events.BaseEventLoop.default_exception_handler
    kind.call_exception_handler = lambda self, context: base_events.BaseEventLoop.default_exception_handler(self, context)
    kind.get_exception_handler = lambda self: None
    kind.is_closed = lambda self: False
    support._poll = _poll_of
    support.first_poll = first_poll
    asyncio.new_event_loop = asyncio.events.new_event_loop = _NestedLoop


_support_poll = support._poll


def _poll_of(state):
    return _poll(state) if state is _shared else _support_poll(state)
