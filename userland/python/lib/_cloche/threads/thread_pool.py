"""multiprocessing.pool.ThreadPool over concurrent.futures."""
import os
from concurrent.futures import ThreadPoolExecutor, wait
from multiprocessing import TimeoutError as PoolTimeoutError


class AsyncResult:
    """What the pool's ..._async methods give."""

    def __init__(self, futures, gather, callback, error_callback):
        self._futures, self._gather = futures, gather
        self._callbacks = callback, error_callback
        self._told = False

    def _tell(self):
        if not self._told:
            self._told = True
            error = next((future.exception() for future in self._futures if future.exception()), None)
            callback = self._callbacks[1 if error else 0]
            if callback:
                callback(error or self._gather(self._futures))

    def wait(self, timeout=None):
        if not wait(self._futures, timeout).not_done:
            self._tell()

    def ready(self):
        done = all(future.done() for future in self._futures)
        if done:
            self._tell()
        return done

    def successful(self):
        if not self.ready():
            raise ValueError(f"{self!r} not ready")
        return not any(future.exception() for future in self._futures)

    def get(self, timeout=None):
        if wait(self._futures, timeout).not_done:
            raise PoolTimeoutError
        self._tell()
        return self._gather(self._futures)


def _all(futures):
    return [future.result() for future in futures]


def _only(futures):
    return futures[0].result()


class ThreadPool:
    """A pool of threads with the methods of a pool of processes."""

    def __init__(self, processes=None, initializer=None, initargs=()):
        if processes is not None and processes < 1:
            raise ValueError("Number of processes must be at least 1")
        if initializer is not None and not callable(initializer):
            raise TypeError("initializer must be a callable")
        self._processes = processes or os.cpu_count() or 1
        self._pool = ThreadPoolExecutor(self._processes, initializer=initializer, initargs=initargs)
        self._state = "RUN"
        self._results = []

    def _submit(self, function, arguments, gather, callback=None, error_callback=None):
        if self._state != "RUN":
            raise ValueError("Pool not running")
        futures = [self._pool.submit(function, *args, **kwargs) for args, kwargs in arguments]
        result = AsyncResult(futures, gather, callback, error_callback)
        self._results.append(result)
        return result

    def apply_async(self, func, args=(), kwds={}, callback=None, error_callback=None):
        return self._submit(func, [(args, kwds)], _only, callback, error_callback)

    def map_async(self, func, iterable, chunksize=None, callback=None, error_callback=None):
        return self._submit(func, [((item,), {}) for item in iterable], _all, callback, error_callback)

    def starmap_async(self, func, iterable, chunksize=None, callback=None, error_callback=None):
        return self._submit(func, [(tuple(item), {}) for item in iterable], _all, callback, error_callback)

    def apply(self, func, args=(), kwds={}):
        return self.apply_async(func, args, kwds).get()

    def map(self, func, iterable, chunksize=None):
        return self.map_async(func, iterable).get()

    def starmap(self, func, iterable, chunksize=None):
        return self.starmap_async(func, iterable).get()

    def imap(self, func, iterable, chunksize=1):
        result = self.map_async(func, iterable)
        return (future.result() for future in result._futures)

    imap_unordered = imap

    def close(self):
        if self._state == "RUN":
            self._state = "CLOSE"

    def terminate(self):
        self._state = "TERMINATE"
        self._pool.shutdown(wait=False, cancel_futures=True)

    def join(self):
        if self._state == "RUN":
            raise ValueError("Pool is still running")
        if self._state == "CLOSE":
            self._pool.shutdown()
            for result in self._results:
                result._tell()

    def __enter__(self):
        if self._state != "RUN":
            raise ValueError("Pool not running")
        return self

    def __exit__(self, *_):
        self.terminate()
