# SPDX-License-Identifier: Apache-2.0
"""How far a work of many parts is: tqdm's bar where that is installed, otherwise a line of our own."""
from __future__ import annotations

import importlib
import sys
import time
from typing import Any, Callable, Protocol, Union

_WIDTH = 30
_STEP_S = 0.1

ProgressOption = Union[bool, None, Callable[[int, int], object]]


class Bar(Protocol):
    """Shown from when it is made until it is closed."""

    def step(self) -> None:
        """One more part is done."""

    def close(self) -> None:
        """Nothing more comes."""


def make_bar(progress: ProgressOption, total: int, label: str) -> Bar:
    """A bar where it is wanted: `None` is where somebody looks, a terminal or a notebook."""
    if callable(progress):
        return _Told(progress, total)
    if progress is False or (progress is None and not _is_watched()):
        return _Told(lambda done, total: None, total)
    try:
        tqdm = importlib.import_module("tqdm.auto").tqdm
    except (ImportError, AttributeError):
        return _Line(total, label)
    return _Tqdm(tqdm(total=total, desc=label))


def _is_watched() -> bool:
    try:
        return sys.stderr.isatty() or type(sys.stderr).__module__.startswith("ipykernel")
    except (AttributeError, ValueError):
        return False


class _Told:
    def __init__(self, told: Callable[[int, int], object], total: int) -> None:
        self._told = told
        self._total = total
        self._done = 0

    def step(self) -> None:
        self._done += 1
        self._told(self._done, self._total)

    def close(self) -> None:
        pass


class _Tqdm:
    def __init__(self, bar: Any) -> None:
        self._bar = bar

    def step(self) -> None:
        self._bar.update(1)

    def close(self) -> None:
        self._bar.close()


class _Line:
    def __init__(self, total: int, label: str) -> None:
        self._total = total
        self._label = label
        self._done = 0
        self._begin = time.monotonic()
        self._drawn = 0.0
        self._draw()

    def step(self) -> None:
        self._done += 1
        if self._done == self._total or time.monotonic() - self._drawn >= _STEP_S:
            self._draw()

    def close(self) -> None:
        self._draw()
        sys.stderr.write("\n")
        sys.stderr.flush()

    def _draw(self) -> None:
        self._drawn = time.monotonic()
        full = _WIDTH * self._done // max(self._total, 1)
        bar = "#" * full + "-" * (_WIDTH - full)
        took = self._drawn - self._begin
        sys.stderr.write(f"\r[{bar}] {self._done}/{self._total}  {took:.0f} s  {self._label}")
        sys.stderr.flush()
