# SPDX-License-Identifier: Apache-2.0
"""Threads for callbacks, of this process and no child of it."""
from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Optional

_lock = threading.Lock()
_pool: Optional[ThreadPoolExecutor] = None


def workers() -> ThreadPoolExecutor:
    """The threads, which are started as they are needed."""
    global _pool
    with _lock:
        if _pool is None:
            _pool = ThreadPoolExecutor(max_workers=32, thread_name_prefix="cloche callback")
        return _pool


def _forget() -> None:
    global _lock, _pool
    _lock = threading.Lock()
    _pool = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
