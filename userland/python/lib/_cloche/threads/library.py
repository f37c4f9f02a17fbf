"""What the library's threads, queues and futures are over the scheduler: `_thread`, `threading`, `queue`, `concurrent.futures`."""
import _thread
import concurrent.futures
import concurrent.futures.thread
import queue
import sys
import threading
import time

from ..host import posix_calls
from ..libraries import imports
from . import scheduler
from .scheduler import Handle, Job, changed, get_ident, run_all, wait_until

_allocate_lock = _thread.allocate_lock
_starting = False


# --- threading -------------------------------------------------------------------------------------------------------------

def start_joinable_thread(function, *, handle=None, daemon=True):
    scheduler.count_sleeps_anew()
    thread = getattr(function, "__self__", None)
    handle = Handle(scheduler.next_ident())
    if isinstance(thread, threading.Thread):
        thread._os_thread_handle, thread._ident = handle, handle.ident
        scheduler.add(Job(function, handle.ident, _restart(thread), handle, daemon, _called(thread)))
        thread._started.set()  # Thread.start waits for that
    else:
        scheduler.add(Job(function, handle.ident, None, handle, daemon))
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
    job = Job(lambda: _plain_body(function, args, kwargs), scheduler.next_ident(), daemon=True)
    scheduler.add(job)
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
    if not self._flag and not _starting:
        scheduler.asked()
    return self._flag


def _shutdown():
    """At the end of the process."""
    scheduler.run_pending()
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
    if block and self.maxsize > 0 and timeout is None and self._qsize() >= self.maxsize and scheduler.busy():
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
    scheduler.add(Job(body, scheduler.next_ident(), function=getattr(function, "func", function), pool=(state, self._max_workers)))
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
    if not _done(self):
        scheduler.asked()
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
    time.sleep = scheduler.sleep
    sys.modules["_socket"]._busy, sys.modules["_socket"]._wait_ready = scheduler.busy, scheduler.wait_ready
