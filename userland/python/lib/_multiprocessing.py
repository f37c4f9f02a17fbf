"""Semaphores between processes, as `multiprocessing` wants them of a C module. One is a named pipe: a byte in it for each unit. So
whoever waits is woken by the kernel, and a child that was started afresh opens it by its name."""

import os
import select
import time
from _thread import get_ident

import fcntl
import termios

RECURSIVE_MUTEX, SEMAPHORE = 0, 1
FOLDER = "/dev/shm"
flags = {"HAVE_SEM_OPEN": 1, "HAVE_SEM_TIMEDWAIT": 1, "HAVE_FD_TRANSFER": 0}


def _path_of(name):
    plain = name.lstrip("/")
    if not plain or "/" in plain or "\0" in plain:
        raise OSError(22, "Invalid argument", name)
    return f"{FOLDER}/sem.{plain}"


def sem_unlink(name):
    os.unlink(_path_of(name))


class SemLock:
    SEM_VALUE_MAX = 32767  # less than a pipe holds

    def __init__(self, kind, value, maxvalue, name, unlink):
        if kind not in (RECURSIVE_MUTEX, SEMAPHORE):
            raise ValueError("unrecognized kind")
        path = _path_of(name)
        os.mkfifo(path, 0o600)
        try:
            self._open(path, kind, maxvalue, None if unlink else name)
            self._put(value)
        except BaseException:
            os.unlink(path)
            raise
        if unlink:
            os.unlink(path)

    @classmethod
    def _rebuild(cls, handle, kind, maxvalue, name):
        self = cls.__new__(cls)
        self._open(_path_of(name), kind, maxvalue, name)
        return self

    def _open(self, path, kind, maxvalue, name):
        self.handle = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        self.kind, self.maxvalue, self.name = kind, maxvalue, name
        self._held, self._owner = 0, None

    def __del__(self):
        if hasattr(self, "handle"):
            os.close(self.handle)

    def _put(self, count):
        while count > 0:
            try:
                count -= os.write(self.handle, bytes(min(count, 4096)))
            except BlockingIOError:
                raise OverflowError(f"a semaphore here holds {self.SEM_VALUE_MAX} at most") from None

    def acquire(self, block=True, timeout=None):
        if self.kind == RECURSIVE_MUTEX and self._is_mine():
            self._held += 1
            return True
        end = None if timeout is None else time.monotonic() + max(timeout, 0)
        while True:
            try:
                os.read(self.handle, 1)
                break
            except BlockingIOError:
                if not block:
                    return False
            left = None if end is None else end - time.monotonic()
            if left is not None and left <= 0:
                return False
            waiting = select.poll()
            waiting.register(self.handle, select.POLLIN)
            waiting.poll(None if left is None else max(1, left * 1000))
        self._held += 1
        self._owner = get_ident()
        return True

    def release(self):
        if self.kind == RECURSIVE_MUTEX:
            if not self._is_mine():
                raise AssertionError("attempt to release recursive lock not owned by thread")
            if self._held > 1:
                self._held -= 1
                return
        elif self._get_value() >= self.maxvalue:
            raise ValueError("semaphore or lock released too many times")
        self._put(1)
        self._held -= 1

    __enter__ = acquire

    def __exit__(self, kind=None, value=None, traceback=None):
        self.release()

    def _count(self):
        return self._held

    def _is_mine(self):
        return self._held > 0 and self._owner == get_ident()

    def _get_value(self):
        return int.from_bytes(fcntl.ioctl(self.handle, termios.FIONREAD, bytes(4)), "little")

    def _is_zero(self):
        return self._get_value() == 0

    def _after_fork(self):
        self._held = 0
