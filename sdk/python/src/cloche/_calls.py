# SPDX-License-Identifier: Apache-2.0
"""Calls of commands that this process serves: what passes between a process of the sandbox and the
function that is its program, for both kinds of API."""
from __future__ import annotations

import base64
import threading
from concurrent.futures import Future
from typing import Any, Callable, List, Optional, Protocol

from ._errors import CancelledError, SandboxError, error_of_name

PIECE_BYTES = 64 << 10
_UNREAD_LIMIT = 1 << 20


class Sent(Protocol):
    """A request on its way."""

    future: "Future[Any]"


class Sender(Protocol):
    """The server that tells of calls, as far as they need it."""

    def submit(self, method: str, params: "dict[str, Any]") -> Sent:
        """Sends a request; its answer comes as its future."""
        ...


class Call:
    """One call that is in progress. Thread-safe; `take` and `finish` come on the thread that reads the
    server's messages."""

    def __init__(self, server: Sender, params: dict[str, Any]) -> None:
        self._server = server
        self.number: int = params["call"]
        self.name: str = params["name"]
        self.args: List[str] = params["arguments"]
        self.cwd: str = params["cwd"]
        self.env: dict[str, str] = params["env"]
        self._condition = threading.Condition()
        self._listeners: list[Callable[[], object]] = []
        self._changes = 0
        self._unread = 0
        self._wanted = 0
        self._input = bytearray()
        self._at_end = False
        self._problem: Optional[SandboxError] = None
        self._ended = False

    # --- What the server tells ---

    def take(self, method: str, params: dict[str, Any]) -> None:
        """`call.input`, `call.taken` or `call.end`."""
        with self._condition:
            if method == "call.input":
                data = base64.b64decode(params["data"])
                self._input += data
                self._wanted -= len(data)
                self._at_end = not data and "error" not in params
                if "error" in params:
                    self._wanted = 0
                    self._problem = error_of_name(params["error"], "standard input")
            elif method == "call.taken":
                self._unread -= params["bytes"]
            else:
                self._ended = True
            self._tell()

    def _tell(self) -> None:
        self._changes += 1
        self._condition.notify_all()
        for listener in self._listeners:
            listener()

    def finish(self) -> None:
        """Nobody waits for it any more."""
        self.take("call.end", {})

    def on_change(self, listener: Callable[[], object]) -> None:
        """Told when there may be more to do, on the thread that reads; it must be quick."""
        with self._condition:
            self._listeners.append(listener)

    # --- What the function does ---

    @property
    def ended(self) -> bool:
        """Whether the process is gone: what is read or written raises `CancelledError`."""
        with self._condition:
            return self._ended

    @property
    def changes(self) -> int:
        """How often something has changed: asked for before one tries, for `wait`."""
        with self._condition:
            return self._changes

    def wait(self, seen: int) -> None:
        """Until something has changed since then."""
        with self._condition:
            self._condition.wait_for(lambda: self._changes != seen)

    def try_read(self, size: int) -> Optional[bytes]:
        """Bytes of the standard input, `size` at most; b"" at its end, None: there are none yet. -1 is for
        who reads all of it: more is asked for before it is needed."""
        taken: Optional[bytes] = None
        with self._condition:
            self._raise_if_ended()
            if self._input:
                taken = bytes(self._input if size < 0 else self._input[:size])
                del self._input[:len(taken)]
            elif self._problem is not None:
                raise self._problem
            if self._at_end:
                return taken or b""
            if size < 0:
                ask = _UNREAD_LIMIT - self._wanted if self._wanted <= _UNREAD_LIMIT // 2 else 0
            else:
                ask = min(size, PIECE_BYTES) if taken is None and self._wanted == 0 else 0
            self._wanted += ask
        if ask:
            self._server.submit("call.read", {"call": self.number, "bytes": ask})
        return taken

    def try_write(self, stream: str, data: memoryview) -> bool:
        """Whether there was room for it: `PIECE_BYTES` at most."""
        with self._condition:
            self._raise_if_ended()
            if self._problem is not None:
                raise self._problem
            if self._unread + len(data) > _UNREAD_LIMIT:
                return False
            self._unread += len(data)
        request = self._server.submit("call.write", {"call": self.number, "stream": stream,
                                                     "data": base64.b64encode(data).decode("ascii")})
        request.future.add_done_callback(self._written)
        return True

    def _written(self, done: Any) -> None:
        problem = done.exception()
        if isinstance(problem, SandboxError):
            with self._condition:
                if not isinstance(problem, CancelledError) and self._problem is None:
                    self._problem = problem
                self._ended = self._ended or isinstance(problem, CancelledError)
                self._tell()

    def _raise_if_ended(self) -> None:
        if self._ended:
            raise CancelledError(f"the call of {self.name} has ended: nobody waits for it any more", "ECANCELED")


def pieces(data: "bytes | bytearray | memoryview") -> "list[memoryview]":
    """As much as goes at once."""
    view = memoryview(data).cast("B")
    return [view[start:start + PIECE_BYTES] for start in range(0, len(view), PIECE_BYTES)]
