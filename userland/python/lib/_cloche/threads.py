"""Threads of an interpreter that has one: each runs on the stack of whoever waits for it, from its start to its end.

A thread that was started is a job in a queue. Jobs run when another thread waits (for a join, lock, condition, event, queue, future),
asks whether one is still alive, waits for descriptors, or sleeps time and again. A job that has to wait itself runs further jobs on top. One that can get no
further, while a thread below it could go on, leaves the stack by SystemExit, and begins anew when something has happened since, or when
the time that it waited for is over: so a worker that takes items from a queue without end lets `queue.join()` return.
While a job sleeps, jobs of the same function run on top of it, so calls that sleep in a pool sleep at the same time.
"""
import _thread
import asyncio.events
import concurrent.futures
import concurrent.futures.thread
import contextvars
import itertools
import queue
import sys
import threading
import time
from collections import deque

from . import imports, posix_calls

_real_sleep = posix_calls.sleep
_allocate_lock = _thread.allocate_lock
_SLICE = 0.05  # seconds between looks at what a signal's handler may have changed
_PATIENCE = 3  # sleeps of one thread after which it is taken to poll for what a job would do
_DEPTH = 32  # jobs that may sleep on top of each other: each takes some of the machine's stack

_jobs = deque()
_parked = []
_stack = []  # what runs now, the innermost last
_waits = []  # for each thread on the stack but the innermost: whether it could go on
_changes = 0  # grows whenever something happens that a thread may wait for
_sleeps = 0
_starting = False
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


# --- threading -------------------------------------------------------------------------------------------------------------

def get_ident():
    return _stack[-1].ident if _stack else _main_ident


def start_joinable_thread(function, *, handle=None, daemon=True):
    global _sleeps
    _sleeps = 0
    thread = getattr(function, "__self__", None)
    handle = Handle(next(_idents))
    if isinstance(thread, threading.Thread):
        thread._os_thread_handle, thread._ident = handle, handle.ident
        _jobs.append(Job(function, handle.ident, _restart(thread), handle, daemon, _called(thread)))
        thread._started.set()  # Thread.start waits for that
    else:
        _jobs.append(Job(function, handle.ident, None, handle, daemon))
    return handle


def _called(thread):
    """What a thread calls: its target, or the `run` of its class."""
    run = type(thread).run
    return getattr(thread, "_target", None) if run is threading.Thread.run else run


def _restart(thread):
    kept = {name: vars(thread)[name] for name in ("_target", "_args", "_kwargs") if name in vars(thread)}

    def again():
        vars(thread).update(kept)
        threading._limbo[thread] = thread
    return again


def start_new_thread(function, args, kwargs={}, /):
    job = Job(lambda: _plain_body(function, args, kwargs), next(_idents), daemon=True)
    _jobs.append(job)
    return job.ident


def _plain_body(function, args, kwargs):
    try:
        function(*args, **kwargs)
    except SystemExit:
        raise
    except BaseException as error:
        sys.unraisablehook(type("UnraisableHookArgs", (), {
            "exc_type": type(error), "exc_value": error, "exc_traceback": error.__traceback__,
            "err_msg": f"Exception ignored in thread started by {function!r}", "object": None}))


def _bootstrap_waits(self, timeout=None):
    """Condition.wait: as the library's own, but for how it waits."""
    if not self._is_owned():
        raise RuntimeError("cannot wait on un-acquired lock")
    waiter = _allocate_lock()
    waiter.acquire()
    self._waiters.append(waiter)
    saved = self._release_save()
    got = False
    try:
        got = wait_until(lambda: not waiter.locked(), timeout)
        return got
    finally:
        self._acquire_restore(saved)
        if not got:
            try:
                self._waiters.remove(waiter)
            except ValueError:
                pass


_notify = threading.Condition.notify


def notify(self, n=1):
    changed()
    _notify(self, n)


def join(self, timeout=None):
    """Thread.join"""
    if not self._initialized:
        raise RuntimeError("Thread.__init__() not called")
    if not self._started.is_set():
        raise RuntimeError("cannot join thread before it is started")
    if self is threading.current_thread():
        raise RuntimeError("cannot join current thread")
    wait_until(self._os_thread_handle.is_done, None if timeout is None else max(timeout, 0))


def is_alive(self):
    """Thread.is_alive"""
    assert self._initialized, "Thread.__init__() not called"
    if self._started.is_set() and not self._os_thread_handle.is_done() and self is not threading.current_thread():
        run_all()
    return self._started.is_set() and not self._os_thread_handle.is_done()


_start = threading.Thread.start


def start(self):
    """Thread.start: whether it has been started is no question that lets others run."""
    global _starting
    _starting = True
    try:
        _start(self)
    finally:
        _starting = False


def is_set(self):
    """Event.is_set"""
    if not self._flag and _jobs and not _stack and not _starting:
        run_all()
    return self._flag


def pending():
    """Whether something is left that has to run before the process ends."""
    return any(not job.daemon for job in _jobs)


def _shutdown():
    """At the end of the process: threads that are no daemons run to their end."""
    while pending():
        job = _jobs.popleft()
        if not job.daemon:
            job.run()
    for function in reversed(threading._threading_atexits):
        function()


class Lock:
    """A lock whose acquire lets jobs run where it has to wait."""

    __slots__ = ("_lock", "release", "locked", "__weakref__")

    def __init__(self):
        lock = self._lock = _allocate_lock()
        self.release = lock.release
        self.locked = lock.locked

    def acquire(self, blocking=True, timeout=-1):
        if self._lock.acquire(False):
            return True
        if not blocking:
            if timeout != -1:
                raise ValueError("can't specify a timeout for a non-blocking call")
            return False
        if timeout < 0 and timeout != -1:
            raise ValueError("timeout value must be a non-negative number")
        return wait_until(lambda: self._lock.acquire(False), None if timeout == -1 else timeout)

    def __enter__(self):
        return self._lock.acquire(False) or self.acquire()

    def __exit__(self, *_):
        self.release()

    acquire_lock = acquire

    def release_lock(self):
        self.release()

    def locked_lock(self):
        return self.locked()

    def __repr__(self):
        return f"<{'locked' if self.locked() else 'unlocked'} _thread.lock object at {id(self):#x}>"


Lock.__name__ = Lock.__qualname__ = "lock"
Lock.__module__ = "_thread"


# --- queue -----------------------------------------------------------------------------------------------------------------

_put = queue.Queue.put


def put(self, item, block=True, timeout=None):
    """Queue.put: a bound holds for put_nowait; a thread that would have to wait for room goes on, since nobody else could make it."""
    if block and self.maxsize > 0 and timeout is None and self._qsize() >= self.maxsize and (_jobs or _stack or _parked):
        with self.mutex:
            self._put(item)
            self.unfinished_tasks += 1
            self.not_empty.notify()
    else:
        _put(self, item, block, timeout)


class SimpleQueue(queue._PySimpleQueue):
    """A queue whose get lets jobs run."""

    __module__ = "queue"

    def get(self, block=True, timeout=None):
        if timeout is not None and timeout < 0:
            raise ValueError("'timeout' must be a non-negative number")
        if not self._queue and not (block and wait_until(lambda: bool(self._queue), timeout)):
            raise queue.Empty
        self._count.acquire(False)
        return self._queue.popleft()

    def put(self, item, block=True, timeout=None):
        changed()
        super().put(item)


# --- concurrent.futures ----------------------------------------------------------------------------------------------------

def submit(self, function, /, *args, **kwargs):
    """ThreadPoolExecutor.submit: a job for each call."""
    with self._shutdown_lock:
        if self._broken:
            raise concurrent.futures.thread.BrokenThreadPool(self._broken)
        if self._shutdown:
            raise RuntimeError("cannot schedule new futures after shutdown")
    future = concurrent.futures.Future()
    state = self.__dict__.setdefault("_cloche_jobs", {"count": 0, "workers": [], "pending": []})
    number = state["count"] % self._max_workers
    state["count"] += 1
    if number == len(state["workers"]):
        state["workers"].append(threading.Thread(name=f"{self._thread_name_prefix or self}_{number}"))
    worker = state["workers"][number]

    def body():
        ident = get_ident()
        threading._active[ident] = worker
        try:
            if future.set_running_or_notify_cancel():
                try:
                    _initialize(self, number, state)
                    result = function(*args, **kwargs)
                except BaseException as error:
                    future.set_exception(error)
                else:
                    future.set_result(result)
        finally:
            threading._active.pop(ident, None)
            state["pending"] = [other for other in state["pending"] if not other.done()]

    state["pending"].append(future)
    _jobs.append(Job(body, next(_idents), function=getattr(function, "func", function), pool=(state, self._max_workers)))
    return future


def _initialize(executor, number, state):
    """What a worker runs before its first call."""
    done = state.setdefault("initialized", set())
    if number not in done and (context := getattr(executor, "_create_worker_context", None)) is not None:
        done.add(number)
        context().initialize()


def shutdown(self, wait=True, *, cancel_futures=False):
    with self._shutdown_lock:
        self._shutdown = True
    pending = self.__dict__.get("_cloche_jobs", {}).get("pending", [])
    if cancel_futures:
        for future in pending:
            future.cancel()
    if wait:
        wait_until(lambda: all(future.done() for future in list(pending)))


_done = concurrent.futures.Future.done


def done(self):
    """Future.done: who asks wants it done."""
    if not _done(self) and _jobs and not _stack:
        run_all()
    return _done(self)


def _adopt_pool(module):
    """multiprocessing.pool: its ThreadPool over jobs; pools of processes are none of ours."""
    from . import thread_pool
    module.ThreadPool = thread_pool.ThreadPool


def install():
    import _threading_local
    imports.after("multiprocessing.pool", _adopt_pool)
    _thread.start_new_thread = _thread.start_new = threading._start_new_thread = start_new_thread
    _thread.start_joinable_thread = threading._start_joinable_thread = start_joinable_thread
    _thread.get_ident = threading.get_ident = get_ident
    _thread.get_native_id = threading.get_native_id = posix_calls.getpid
    if "get_native_id" not in threading.__all__:
        threading.__all__.append("get_native_id")
    threading.Lock = Lock
    threading.local = _threading_local.local
    threading.Condition.wait = _bootstrap_waits
    threading.Condition.notify = notify
    threading.Thread.start, threading.Thread.join, threading.Thread.is_alive = start, join, is_alive
    threading.Event.is_set = is_set
    threading._shutdown = _shutdown
    queue.Queue.put = put
    queue.SimpleQueue = SimpleQueue
    concurrent.futures.thread.ThreadPoolExecutor.submit = submit
    concurrent.futures.thread.ThreadPoolExecutor.shutdown = shutdown
    concurrent.futures.Future.done = done
    time.sleep = sleep
    sys.modules["_socket"]._busy, sys.modules["_socket"]._wait_ready = busy, wait_ready
