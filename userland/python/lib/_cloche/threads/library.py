"""What the library's threads, locks and queues are over the scheduler: `_thread`, `threading`, `queue`."""
import _thread
import collections
import functools
import os
import posix
import queue
import stat
import sys
import threading
import time
import types

from ..host import door, linux_calls, posix_calls
from ..libraries import imports
from . import scheduler
from .scheduler import Handle, get_ident, wait_until

_allocate_lock = _thread.allocate_lock
_O_NONBLOCK, _F_GETFL = 0o4000, 3
_PATIENCE = 0.005  # seconds after which a lock goes to who waits for it
_PIPE_BUF = 4096  # a pipe that can be written takes so much at once


def start_joinable_thread(function, *, handle=None, daemon=True):
    handle = Handle() if handle is None else handle
    ident = scheduler.start(function, handle, daemon)
    thread = getattr(function, "__self__", None)
    if scheduler.waits_for_a_stack(ident) and isinstance(thread, threading.Thread):
        # Who starts it goes on: threads that are idle, as a pool's are, may keep their stacks for as long as that one has work for them.
        thread._ident = ident
        thread._started.set()
    return handle


def start_new_thread(function, args, kwargs={}, /):
    if not callable(function):
        raise TypeError("first arg must be callable")
    return scheduler.start(lambda: _plain_body(function, args, kwargs))


def _plain_body(function, args, kwargs):
    try:
        function(*args, **kwargs)
    except SystemExit:
        raise
    except BaseException as error:
        sys.unraisablehook(type("UnraisableHookArgs", (), {
            "exc_type": type(error), "exc_value": error, "exc_traceback": error.__traceback__,
            "err_msg": f"Exception ignored in thread started by {function!r}", "object": None}))


def _make_thread_handle(ident):
    return Handle(ident)


def _shutdown():
    """At the end of the process. Who joins the main thread goes on now, as natively."""
    threading._SHUTTING_DOWN = True
    for function in reversed(threading._threading_atexits):
        function()
    threading._main_thread._os_thread_handle._set_done()
    scheduler.run_pending()


def _check_timeout(seconds):
    if seconds != seconds:
        raise ValueError("Invalid value NaN (not a number)")
    if seconds < 0:
        raise ValueError("timeout value must be a non-negative number")
    if seconds > threading.TIMEOUT_MAX:
        raise OverflowError("timeout value is too large")


class Lock:
    """A lock whose acquire lets others run where it has to wait. Who releases it lets them have it now and then: who takes it again at
    once would keep it for ever otherwise, as another thread looks at it only in its turn."""

    __slots__ = ("_lock", "_waiting", "_since", "release", "locked", "__weakref__")

    def __init__(self):
        lock = self._lock = _allocate_lock()
        self._waiting = 0  # threads
        self.release = lock.release
        self.locked = lock.locked

    def acquire(self, blocking=True, timeout=-1):
        if timeout != -1:
            if not blocking:
                raise ValueError("can't specify a timeout for a non-blocking call")
            _check_timeout(timeout)
        if self._lock.acquire(False):
            return True
        if not blocking:
            return False
        end = None if timeout == -1 else time.monotonic() + timeout
        if not self._waiting:
            self._since = time.monotonic()  # somebody waits, or has had it last
        self._waiting += 1
        self.release = self._release_to_others
        try:
            while scheduler.wait(self._is_free, end):
                if self._lock.acquire(False):
                    return True
            return False
        finally:
            self._waiting -= 1

    def _release_to_others(self):
        self._lock.release()
        if not self._waiting:
            self.release = self._lock.release
        elif scheduler.may_change() and time.monotonic() - self._since > _PATIENCE:
            self._since = time.monotonic()
            scheduler.pause()

    def _is_free(self):
        return not self._lock.locked()

    def __enter__(self):
        return self._lock.acquire(False) or self.acquire()

    def __exit__(self, *_):
        self.release()

    def _at_fork_reinit(self):
        self.__init__()

    acquire_lock = acquire

    def release_lock(self):
        self.release()

    def locked_lock(self):
        return self.locked()

    def __repr__(self):
        return f"<{'locked' if self.locked() else 'unlocked'} _thread.lock object at {id(self):#x}>"


Lock.__name__ = Lock.__qualname__ = "lock"
Lock.__module__ = "_thread"


class SimpleQueue:
    """queue.SimpleQueue: a handler of a signal or a finalizer may put something in, whatever it interrupts."""

    def __init__(self):
        self._items = collections.deque()

    def put(self, item, block=True, timeout=None):
        self._items.append(item)

    def put_nowait(self, item):
        self._items.append(item)

    def get(self, block=True, timeout=None):
        if block and timeout is not None and timeout < 0:
            raise ValueError("'timeout' must be a non-negative number")
        end = None if timeout is None else time.monotonic() + timeout
        while True:
            try:
                return self._items.popleft()
            except IndexError:
                pass
            if not block or not scheduler.wait(self._items.__len__, end):
                raise queue.Empty

    def get_nowait(self):
        return self.get(block=False)

    def empty(self):
        return not self._items

    def qsize(self):
        return len(self._items)

    __class_getitem__ = classmethod(types.GenericAlias)


SimpleQueue.__module__ = "_queue"


def sendfile(out_fd, in_fd, offset, count):
    """os.sendfile: others run while a pipe, a socket or a terminal is full."""
    if count <= 0 or not scheduler.busy() or door.call("fcntl", out_fd, _F_GETFL, 0) & _O_NONBLOCK \
            or stat.S_ISREG(os.fstat(out_fd).st_mode):
        return linux_calls.sendfile(out_fd, in_fd, offset, count)
    done = 0
    while True:
        scheduler.before_write(out_fd)
        at = None if offset is None else offset + done
        try:
            sent = linux_calls.sendfile(out_fd, in_fd, at, min(count - done, _PIPE_BUF))
        except OSError:
            if not done:
                raise
            return done
        done += sent
        if done >= count or not sent:
            return done


def splice(src, dst, count, offset_src=None, offset_dst=None, flags=0):
    """os.splice: others run while there is nothing to take, or no room for it."""
    if scheduler.busy() and not flags & os.SPLICE_F_NONBLOCK:
        for fd, before in ((src, scheduler.before_read), (dst, scheduler.before_write)):
            if os.get_blocking(fd):
                before(fd)
    return linux_calls.splice(src, dst, count, offset_src, offset_dst, flags)


class _Notifier:
    """How workers of a pool say that something has changed: a queue with a descriptor."""

    def __init__(self):
        from multiprocessing.connection import Pipe
        self._reader, self._writer = Pipe(duplex=False)
        self.get, self.put = self._reader.recv, self._writer.send

    def empty(self):
        return not self._reader.poll()


class _PoolContext:
    """A pool of threads has no use for queues between processes."""

    SimpleQueue = _Notifier


def _adopt_pool(module):
    """multiprocessing.pool"""
    def __init__(self, processes=None, initializer=None, initargs=()):
        module.Pool.__init__(self, processes, initializer, initargs, context=_PoolContext)

    __init__.__qualname__ = "ThreadPool.__init__"
    module.ThreadPool.__init__ = __init__


def get_native_id():
    """The process's number of the main thread, as natively; another one of each further thread."""
    return posix_calls.getpid() + (0 if scheduler.is_main() else get_ident() << 16)


def _set_native_id(self):
    self._native_id = get_native_id()


def _native_id(self):
    """The main thread is the image's, and has the number of the process that it is in now."""
    return posix_calls.getpid() if self is threading._main_thread else self.__dict__.get("_native_id")


def install():
    scheduler.install()
    imports.after("multiprocessing.pool", _adopt_pool)
    _thread.start_new_thread = _thread.start_new = threading._start_new_thread = start_new_thread
    _thread.start_joinable_thread = threading._start_joinable_thread = start_joinable_thread
    _thread._ThreadHandle = threading._ThreadHandle = Handle
    _thread._make_thread_handle = threading._make_thread_handle = _make_thread_handle
    threading._main_thread._os_thread_handle = Handle(get_ident())
    _thread.get_ident = threading.get_ident = get_ident
    _thread.get_native_id = threading.get_native_id = get_native_id
    if "get_native_id" not in threading.__all__:
        threading.__all__.append("get_native_id")
    threading._HAVE_THREAD_NATIVE_ID = True
    threading.Thread._set_native_id, threading.Thread.native_id = _set_native_id, property(_native_id)
    threading.Lock = threading._allocate_lock = _thread.lock = _thread.LockType = Lock
    _thread.allocate_lock = _thread.allocate = Lock  # those of importlib too: nobody spins for a module
    threading._CRLock = None
    threading.RLock = _thread.RLock = functools.RLock = threading._RLock
    threading._RLock.__name__ = threading._RLock.__qualname__ = "RLock"
    threading._RLock.__module__ = "_thread"
    threading._active_limbo_lock = threading._RLock()
    threading._shutdown = _shutdown
    queue.SimpleQueue = SimpleQueue
    posix.sendfile = os.sendfile = sendfile
    posix.splice = os.splice = splice
    time.sleep = scheduler.sleep
    sockets = sys.modules["_socket"]
    sockets._busy, sockets._wait_ready, sockets._alone = scheduler.busy, scheduler.wait_ready, scheduler.alone
