# SPDX-License-Identifier: Apache-2.0
"""Threads for callbacks, which keep no process from ending."""
from __future__ import annotations

import threading
from collections import deque
from concurrent.futures import Executor, Future
from typing import Any, Callable, Deque, Tuple

_THREADS_MAX = 32


class Workers(Executor):
    """Some threads, started as they are needed and gone when there is nothing to do. Calls beyond them wait."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: Deque[Tuple["Future[Any]", Callable[[], Any]]] = deque()
        self._threads = 0

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "Future[Any]":
        future: "Future[Any]" = Future()
        wanted = (future, lambda: fn(*args, **kwargs))
        with self._lock:
            self._waiting.append(wanted)
            if self._threads == _THREADS_MAX:
                return future
            self._threads += 1
        try:
            threading.Thread(target=self._work, name="cloche callback", daemon=True).start()
        except RuntimeError:  # the system gives no thread: those that there are do it
            with self._lock:
                self._threads -= 1
                if self._threads == 0:
                    self._waiting.remove(wanted)
                    raise
        return future

    def _work(self) -> None:
        while True:
            with self._lock:
                if not self._waiting:
                    self._threads -= 1
                    return
                future, call = self._waiting.popleft()
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(call())
            except BaseException as error:
                future.set_exception(error)
