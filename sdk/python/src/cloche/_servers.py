# SPDX-License-Identifier: Apache-2.0
"""The servers that this process uses: one of its own, which all sandboxes share, and connections to
others. They end with this process, and no child of it has them."""
from __future__ import annotations

import atexit
import os
import queue
import threading
import weakref
from typing import Callable, Optional

from ._remote import RemoteServer
from ._server import Server

_shared_lock = threading.Lock()
_shared: Optional[Server] = None
_all: "weakref.WeakSet[Server]" = weakref.WeakSet()
# What finalizers and readers want done. Finalizers may come in the middle of anything, with any lock held: this queue
# can be put to there, and a thread does it.
_wishes: "queue.SimpleQueue[Callable[[], None]]" = queue.SimpleQueue()
_granter: Optional[threading.Thread] = None


def later(wish: Callable[[], None]) -> None:
    """For finalizers, and threads that read: done soon, on another thread."""
    _wishes.put(wish)


def _grant(wishes: "queue.SimpleQueue[Callable[[], None]]") -> None:
    while True:
        try:
            wishes.get()()
        except Exception:
            pass  # it costs itself alone: this thread is for all of them


def _grant_wishes() -> None:
    global _granter
    if _granter is None:
        _granter = threading.Thread(target=_grant, args=(_wishes,), name="cloche finalizers", daemon=True)
        _granter.start()


def acquire() -> Server:
    """The server of this process, started when there is none. Give it back with `release`."""
    global _shared
    with _shared_lock:
        if _shared is None or not _shared.is_running:
            _shared = Server()
            _all.add(_shared)
            _grant_wishes()
        _shared._users += 1
        return _shared


def connect(url: str, token: Optional[str]) -> Server:
    """A connection to a server of another machine, for one user. Give it back with `release`."""
    server = RemoteServer(url, token)
    adopt(server)
    server._users = 1
    return server


def adopt(server: Server) -> None:
    """One that is used beside these: it ends with this process, and no child of it has it."""
    _all.add(server)
    with _shared_lock:
        _grant_wishes()


def retain(server: Server) -> None:
    """One more user of a server that one holds."""
    with _shared_lock:
        server._users += 1


def release(server: Server, wait: bool = True) -> None:
    """Gives a server back; the last one to do so ends it."""
    global _shared
    with _shared_lock:
        server._users -= 1
        last = server._users <= 0
        if last and _shared is server:
            _shared = None
    if not last:
        return
    if wait:
        server.close()
    else:
        server.close_later()


def _close_all() -> None:
    for server in list(_all):
        server.close()


def _forget_all() -> None:
    global _shared, _shared_lock, _wishes, _granter
    _shared_lock = threading.Lock()
    _shared = None
    _wishes = queue.SimpleQueue()
    _granter = None
    for server in list(_all):
        server.abandon()
    _all.clear()


atexit.register(_close_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_all)
