# SPDX-License-Identifier: Apache-2.0
"""One function in many sandboxes."""
from __future__ import annotations

import threading
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from typing import Any, Callable, Generic, Iterable, List, Optional, TypeVar, cast

from ._bar import ProgressOption, make_bar
from ._errors import CancelledError
from ._given import map_workers
from .sandbox import Sandbox

Item = TypeVar("Item")
Value = TypeVar("Value")


def map_sandboxes(function: Callable[[Sandbox, Item], Value], items: Iterable[Item], *,
                  base: Optional[Sandbox] = None, workers: Optional[int] = None, progress: ProgressOption = None,
                  label: str = "sandboxes", return_exceptions: bool = False, **options: Any) -> List[Value]:
    """Calls `function(sandbox, item)` for each item, with a sandbox of its own, several at a time.

        answers = map_sandboxes(lambda sbx, n: sbx.commands.run(f"echo {n}").stdout, range(1000))

    Args:
        items: all of them are taken before the first call.
        base: each sandbox is a fork of this one, and goes on from here; otherwise it is `Sandbox(**options)`.
        workers: how many at a time; some more than this machine has processors when absent.
        progress: whether a bar is shown, by `tqdm` where that is installed; None: on a terminal and in a
            notebook. A function is told `(done, total)` instead.
        label: what the bar says.
        return_exceptions: what a call raises stands in its place of the results. Otherwise the first one is
            raised here, and what runs in the other sandboxes ends.

    Returns:
        what the calls have returned, in the order of the items.
    """
    count = map_workers(function, base, Sandbox, options, workers)
    given = list(items)
    make = base.fork if base is not None else lambda: Sandbox(**options)
    running: _Running[Item, Value] = _Running(function, make)
    bar = make_bar(progress, len(given), label)
    pool = ThreadPoolExecutor(count, thread_name_prefix="cloche map")
    try:
        futures = [pool.submit(running.call, item) for item in given]
        for future in as_completed(futures):
            if not return_exceptions:
                future.result()
            bar.step()
        return [_outcome(future) for future in futures]
    finally:
        running.stop()
        pool.shutdown(cancel_futures=True)
        bar.close()


def _outcome(future: "Future[Value]") -> Value:
    problem = future.exception()
    return cast(Value, problem) if problem is not None else future.result()


class _Running(Generic[Item, Value]):
    """The calls in progress, which can be ended."""

    def __init__(self, function: Callable[[Sandbox, Item], Value], make: Callable[[], Sandbox]) -> None:
        self._function = function
        self._make = make
        self._lock = threading.Lock()
        self._sandboxes: List[Sandbox] = []
        self._stopped = False

    def call(self, item: Item) -> Value:
        with self._make() as sandbox:
            with self._lock:
                if self._stopped:
                    raise CancelledError("the other sandboxes have been ended", "ECANCELED")
                self._sandboxes.append(sandbox)
            try:
                return self._function(sandbox, item)
            finally:
                with self._lock:
                    self._sandboxes.remove(sandbox)

    def stop(self) -> None:
        with self._lock:
            self._stopped = True
            sandboxes = list(self._sandboxes)
        for sandbox in sandboxes:
            sandbox.kill()
