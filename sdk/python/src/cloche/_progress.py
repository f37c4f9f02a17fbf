# SPDX-License-Identifier: Apache-2.0
"""A line that shows that something takes long, on a terminal or in a notebook."""
from __future__ import annotations

import sys
import threading
import time

_WIDTH = 24
_STEP_S = 0.1


class Progress:
    """Shows a moving bar with what is being done, from `begin` to `end`.

    Where standard error is no terminal it is one line for each thing that is begun.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._text = ""
        self._stop = threading.Event()

    def begin(self, text: str) -> None:
        """Says what is done from now on."""
        with self._lock:
            if text == self._text:
                return
            self._text = text
            if not _is_live():
                print(f"cloche: {text}", file=sys.stderr)
                return
            if self._thread is None:
                self._stop.clear()
                self._thread = threading.Thread(target=self._draw, name="cloche progress", daemon=True)
                self._thread.start()

    def end(self) -> None:
        """Takes the bar away."""
        with self._lock:
            thread, self._thread, self._text = self._thread, None, ""
            self._stop.set()
        if thread is not None:
            thread.join()

    def _draw(self) -> None:
        begin = time.monotonic()
        turn = 0
        while not self._stop.wait(_STEP_S):
            at = turn % (2 * _WIDTH)
            at = at if at < _WIDTH else 2 * _WIDTH - 1 - at
            bar = "-" * at + "#" + "-" * (_WIDTH - 1 - at)
            sys.stderr.write(f"\r[{bar}] {time.monotonic() - begin:3.0f} s  {self._text}\x1b[K")
            sys.stderr.flush()
            turn += 1
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()


def _is_live() -> bool:
    try:
        return sys.stderr.isatty()
    except (AttributeError, ValueError):
        return False
