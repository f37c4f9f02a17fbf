"""Threads of an interpreter that has one stack: each runs on that of whoever waits for it, from its start to its end.

A thread that was started is a job. What happens to it:

             add()            _next(), run_all(): another thread waits or polls
    (none) --------> queued -----------------------------------------------> running on top of that
                     _jobs                                                   _stack
                                                                              |   ^   |
                    _leave(): it cannot go on, and what is below it can       |   |   |  its function returns
                                   +------------------------------------------+   |   v
                                   v                                              |  ended (its Handle says so)
                                parked ------------------------------------------+
                                _parked   _next(): something has happened since, or its own wait is over;
                                          it begins anew, from its first line

Jobs run when another thread waits (for a join, lock, condition, event, queue, future), asks whether one is still alive, waits for
descriptors, or sleeps time and again. A job that has to wait itself runs further jobs on top. One that can get no further, while a
thread below it could go on, leaves the stack by SystemExit; so a worker that takes items from a queue without end lets
`queue.join()` return. While a job sleeps, jobs of the same function run on top of it, so calls that sleep in a pool sleep at the
same time. What of the library stands on this is library.py.
"""
import _thread
import asyncio.events
import contextvars
import itertools
import time
from collections import deque

from ..host import posix_calls

_real_sleep = posix_calls.sleep
_SLICE = 0.05  # seconds between looks at what a signal's handler may have changed
_PATIENCE = 3  # sleeps of one thread after which it is taken to poll for what a job would do
_DEPTH = 32  # jobs that may sleep on top of each other: each takes some of the machine's stack

_jobs = deque()
_parked = []
_stack = []  # what runs now, the innermost last
_waits = []  # for each thread on the stack but the innermost: whether it could go on
_changes = 0  # grows whenever something happens that a thread may wait for
_sleeps = 0
_idents = itertools.count(2)
_main_ident = _thread.get_ident()


class Handle:
    """What a Thread knows its thread by."""

    def __init__(self, ident):
        self.ident = ident
        self._ended = False

    def is_done(self):
        return self._ended

    def _set_done(self):
        self._ended = True

    def join(self, timeout=None, /):
        wait_until(self.is_done, None if timeout is None or timeout < 0 else timeout)


class Job:
    """A thread before its end. `again` prepares another beginning; without it the job stays on the stack up to its end.

    `function` is what it calls, and `pool` the (key, size) of the pool whose worker it would be.
    """

    def __init__(self, body, ident, again=None, handle=None, daemon=False, function=None, pool=None):
        self.body, self.ident, self.again, self.handle, self.daemon = body, ident, again, handle, daemon
        self.function, self.pool = function, pool
        self.seen = 0
        self.left = False  # it was taken off the stack
        # Of one that left while it waited: tells whether its descriptors are ready; till when it waits at most.
        self.poll = self.end = None

    def is_due(self):
        """Whether its own wait is over."""
        return (self.poll is not None and bool(self.poll(0))) or (self.end is not None and time.monotonic() >= self.end)

    def waits(self):
        """Whether its own wait will end by itself, or may."""
        return self.poll is not None or self.end is not None

    def run(self):
        loop = asyncio.events._get_running_loop()
        asyncio.events._set_running_loop(None)
        _stack.append(self)
        self.left, self.poll, self.end = False, None, None
        try:
            contextvars.Context().run(self.body)
        except SystemExit:
            pass
        finally:
            _stack.pop()
            asyncio.events._set_running_loop(loop)
        if self.left:
            self.seen = _changes
            _parked.append(self)
        else:
            changed()
            if self.handle is not None:
                self.handle._set_done()


def changed():
    global _changes
    _changes += 1


def _next():
    """A job that may get further now."""
    if _jobs:
        return _jobs.popleft()
    for job in _parked:
        if job.seen != _changes or job.is_due():
            _parked.remove(job)
            job.again()
            return job
    return None


def wait_until(ready, timeout=None):
    """Runs jobs until `ready()`, at most for `timeout` seconds; whether it came true."""
    end = None if timeout is None else time.monotonic() + timeout
    while not ready():
        if _may_leave() and any(below() for below in _waits):
            _leave(end=end)
        job = _next() if end is None or time.monotonic() < end else None
        if job is not None:
            _waits.append(lambda: ready() or (end is not None and time.monotonic() >= end))
            try:
                job.run()
            finally:
                _waits.pop()
            continue
        if end is None:
            if _may_leave():
                _leave()
            if any(job.waits() for job in _parked):
                _real_sleep(_SLICE)
            else:
                _nobody_comes(ready)
        elif (left := end - time.monotonic()) <= 0:
            return False
        else:
            _real_sleep(min(left, _SLICE))
    return True


def _may_leave():
    return bool(_stack) and _stack[-1].again is not None


def _leave(poll=None, end=None):
    job = _stack[-1]
    job.left, job.poll, job.end = True, poll, end
    raise SystemExit


def current_job():
    """The thread that runs now; None for the main one."""
    return _stack[-1] if _stack else None


def busy():
    """Whether there is any thread but the main one."""
    return bool(_jobs or _parked or _stack)


def wait_ready(poll, timeout=None):
    """Waits for descriptors: `poll(seconds)` tells what is ready after so long, something false for nothing, None where a signal has
    ended the wait. Jobs run meanwhile; one that waits here itself leaves the stack where a thread below it could go on, and begins
    anew when its descriptors are ready: so a server in a thread answers the client in the main one."""
    if not busy():
        return poll(timeout)
    end = None if timeout is None else time.monotonic() + timeout
    while True:
        found = poll(0)
        left = None if end is None else end - time.monotonic()
        if found or found is None or (left is not None and left <= 0):
            return found
        if _may_leave() and any(below() for below in _waits):
            _leave(poll, end)
        if (job := _next()) is not None:
            _waits.append(lambda: bool(poll(0)) or (end is not None and time.monotonic() >= end))
            try:
                job.run()
            finally:
                _waits.pop()
            continue
        looks = (_waits and _may_leave()) or any(job.waits() for job in _parked)
        found = poll(left if not looks else _SLICE if left is None else min(left, _SLICE))
        if found or found is None or not looks:
            return found


def _nobody_comes(ready):
    """A thread waits, and nothing runs that could end that: only a signal's handler may."""
    import signal
    handled = any(callable(signal.getsignal(number)) for number in (signal.SIGALRM, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2))
    if not handled:
        raise RuntimeError("deadlock: this waits for another thread, and every one has ended or waits itself "
                           "(threads here run one after the other, see threading in docs/python.md)")
    while not ready():
        _real_sleep(_SLICE)


def run_all():
    """Somebody polls: what has not begun begins."""
    while _jobs:
        job = _jobs.popleft()
        _waits.append(lambda: False)
        try:
            job.run()
        finally:
            _waits.pop()


def _next_alike():
    """A job that calls what the innermost thread calls, if its pool has a worker for it."""
    innermost = _stack[-1]
    if innermost.function is None or len(_stack) >= _DEPTH:
        return None
    for job in _jobs:
        if job.function == innermost.function:
            if job.pool is not None and sum(other.pool is not None and other.pool[0] is job.pool[0] for other in _stack) >= job.pool[1]:
                return None
            _jobs.remove(job)
            return job
    return None


def _sleep_together(end):
    """Sleeps till `end`, while jobs like the innermost thread run and sleep on top of it."""
    while (left := end - time.monotonic()) > 0:
        job = _next_alike()
        if job is None:
            return _real_sleep(left)
        _waits.append(lambda: False)  # the sleeper is patient: none of its like leaves the stack for it
        try:
            job.run()
        finally:
            _waits.pop()


def sleep(seconds, /):
    global _sleeps
    if not (_jobs or _stack or _parked) or not seconds > 0:
        return _real_sleep(seconds)
    _sleeps += 1
    end = time.monotonic() + seconds
    if _may_leave() and any(below() for below in _waits):
        _real_sleep(min(seconds, _SLICE))
        _leave(end=end)
    if _stack and _jobs and _stack[-1].function is not None:
        _sleep_together(end)
    elif _jobs and _sleeps >= _PATIENCE:
        _sleeps = 0
        wait_until(lambda: False, seconds)
    else:
        _real_sleep(seconds)


def add(job):
    _jobs.append(job)


def next_ident():
    return next(_idents)


def get_ident():
    return _stack[-1].ident if _stack else _main_ident


def count_sleeps_anew():
    """A thread has just been started: how often another one slept before says nothing of what it waits for."""
    global _sleeps
    _sleeps = 0


def asked():
    """The main thread asks whether something is done: what has not begun begins."""
    if _jobs and not _stack:
        run_all()


def pending():
    """Whether something is left that has to run before the process ends."""
    return any(not job.daemon for job in _jobs)


def run_pending():
    """At the end of the process: threads that are no daemons run to their end."""
    while pending():
        job = _jobs.popleft()
        if not job.daemon:
            job.run()
