# SPDX-License-Identifier: Apache-2.0
"""A server of `cloche serve`, as the rest of this package sees it: what it sees of a local one.

Sandboxes are sessions there, which outlive a connection. When it is lost, the next request connects
again and attaches to them. What was on its way is lost: such a request raises
`ConnectionLostError`, unless it only reads, when it is sent again.
"""
from __future__ import annotations

import json
import threading
import time
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NoAnswer
from typing import Any, Dict, Optional, Set

from ._calls import Call
from ._errors import ConnectionLostError, SandboxError, ServerError, has_ended
from ._progress import Progress
from ._server import CallAnswerer, CommandListener, OutputHandler, QuestionHandler, Request, Server, _Pending
from ._websocket import CONNECT_SECONDS, WebSocket, WebSocketEnded
from ._wire import request_line

_READS = frozenset({"files.read", "files.list", "files.stat", "files.glob", "files.tarOut", "python.snapshotState", "env.get", "env.list",
                    "packages.list", "history.list", "snapshot.list", "figures", "ping", "session.list"})
GONE = "gone"
"""What a connection calls a sandbox whose session it has not found again."""


class RemoteServer(Server):
    """A connection to a server, made anew where it is lost. Thread-safe."""

    _pauses: "tuple[float, ...]" = (0.0, 0.2, 0.5, 1.0, 2.0, 4.0)
    _connect_seconds: float = CONNECT_SECONDS

    def __init__(self, url: str, token: Optional[str]) -> None:
        self._url, self._token = url, token
        self._lock = threading.Lock()
        self._connect_lock = threading.RLock()
        self._pending: Dict[int, _Pending] = {}
        self._commands: Dict[int, CommandListener] = {}
        self._answerers: Dict[str, CallAnswerer] = {}
        self._calls: Dict[int, Call] = {}
        self._last = 0
        self._ended: Optional[str] = None
        self._users = 0
        self.progress: Progress = Progress()
        # Names of sandboxes, which stay, to what each connection calls them, and back; and their sessions.
        self._ids: Dict[str, str] = {}
        self._names: Dict[str, str] = {}
        self._sessions: Dict[str, str] = {}
        self._ended_sandboxes: Set[str] = set()
        self._socket: Optional[WebSocket] = None
        self._connect()

    @property
    def pid(self) -> int:
        """0: its process is another machine's."""
        return 0

    @property
    def is_ready(self) -> bool:
        """Whether there is a connection."""
        return self._socket is not None

    def make_ready(self) -> None:
        """Connects again where the connection is lost."""
        self._ensure_connected()

    def has(self, sandbox_id: str) -> bool:
        """False once its session was not there any more."""
        return self.is_running and sandbox_id not in self._ended_sandboxes

    def session_of(self, sandbox_id: str) -> Optional[str]:
        """The session that a sandbox is."""
        with self._lock:
            return self._sessions.get(sandbox_id)

    def submit(self, method: str, params: dict[str, Any], on_output: Optional[OutputHandler] = None,
               on_question: Optional[QuestionHandler] = None,
               command: Optional[CommandListener] = None) -> Request:
        """As of a local server; waits for a connection where there is none."""
        outer: "Future[Any]" = Future()
        name = params.get("sandboxId")
        request = Request(self, 0, name, outer)

        def send() -> None:
            self._ensure_connected()
            request._number = self._send_request(method, params, _Pending(on_output, on_question, command), answered)

        def answered(done: "Future[Any]") -> None:
            error = done.exception()
            if isinstance(error, ConnectionLostError) and method in _READS and self._ended is None:
                threading.Thread(target=again, name="cloche reconnects", daemon=True).start()
            elif error is not None:
                _set(outer, error=self._of_ended(name, error))
            else:
                _set(outer, self._named(method, params, done.result()))

        def again() -> None:
            try:
                send()
            except SandboxError as error:
                _set(outer, error=error)

        send()
        return request

    def _of_ended(self, name: Optional[str], error: BaseException) -> BaseException:
        """What says that a sandbox is not there any more is not told as of a file that is not."""
        if name is None or not has_ended(error):
            return error
        self._ended_sandboxes.add(name)
        return ServerError(f"the sandbox has ended: {self._url} has no session {self.session_of(name) or name} any more")

    def _send_request(self, method: str, params: dict[str, Any], pending: _Pending, answered: Any) -> int:
        wire = dict(params)
        pending.future.add_done_callback(answered)
        with self._lock:
            if self._ended is not None:
                raise ServerError(self._ended)
            if "sandboxId" in wire:
                wire["sandboxId"] = self._ids.get(wire["sandboxId"], wire["sandboxId"])
            self._last += 1
            number = self._last
            self._pending[number] = pending
            socket = self._socket
        try:
            if socket is None:
                raise WebSocketEnded("the connection is lost")
            socket.send(request_line(number, method, wire)[:-1])
        except OSError as error:
            self._lose(socket, str(error))
        except BaseException:
            with self._lock:
                self._pending.pop(number, None)
            raise
        return number

    def _named(self, method: str, params: dict[str, Any], result: Any) -> Any:
        """Notes which session a new sandbox is; its first name stays."""
        if method in ("sandbox.create", "sandbox.fork"):
            sandbox, session = result["sandboxId"], result["sessionId"]
            name = "r-" + session
            with self._lock:
                self._ids[name], self._names[sandbox], self._sessions[name] = sandbox, name, session
            return {**result, "sandboxId": name}
        if method == "sandbox.destroy":
            with self._lock:
                self._names.pop(self._ids.pop(params["sandboxId"], ""), None)
                self._sessions.pop(params["sandboxId"], None)
        return result

    def _ensure_connected(self) -> None:
        with self._connect_lock:
            if self._socket is not None or self._ended is not None:
                return
            problem: Optional[ServerError] = None
            for pause in self._pauses:
                time.sleep(pause)
                if self._ended is not None:
                    return
                try:
                    return self._connect()
                except ServerError as error:
                    problem = error
            raise ConnectionLostError(f"the connection is lost, and there is no new one: {problem}")

    def _connect(self) -> None:
        with self._lock:
            sessions = dict(self._sessions)
        socket = WebSocket(self._url, self._token, next(iter(sessions.values()), None), self._connect_seconds)
        with self._lock:
            self._socket = socket
            self._names.clear()
        threading.Thread(target=self._receive, args=(socket,), name="cloche reader", daemon=True).start()
        for name, session in sessions.items():
            attached: "Future[Any]" = Future()
            self._send_request("sandbox.create", {"sessionId": session}, _Pending(),
                               lambda done, to=attached: _copy(done, to))
            try:
                sandbox = attached.result(timeout=2 * self._connect_seconds)["sandboxId"]
            except SandboxError:
                sandbox = GONE  # it has ended meanwhile: what is asked of it says so
            except NoAnswer:
                self._lose(socket, "it does not answer")
                raise ServerError(f"{self._url} does not answer") from None
            with self._lock:
                self._ids[name] = sandbox
                self._names[sandbox] = name
            if (answerer := self.answerer_of(name)) is not None:
                # Its answer is nobody's: where it fails the commands say that nobody serves them.
                self._send_request("commands.set", {"sandboxId": name, "commands": answerer.descriptions},
                                   _Pending(), lambda done: done.exception())

    def _receive(self, socket: WebSocket) -> None:
        try:
            while True:
                self._handle(self._with_names(json.loads(socket.receive())))
        except (OSError, ValueError) as error:
            self._lose(socket, str(error))

    def _with_names(self, message: dict[str, Any]) -> dict[str, Any]:
        params = message.get("params")
        if isinstance(params, dict) and "sandboxId" in params:
            with self._lock:
                params["sandboxId"] = self._names.get(params["sandboxId"], params["sandboxId"])
        return message

    def _lose(self, socket: Optional[WebSocket], why: str) -> None:
        """What waits for an answer gets none."""
        with self._lock:
            if socket is not None and self._socket is not socket:
                return
            self._socket = None
            pending = list(self._pending.values())
            self._pending.clear()
            commands = list(self._commands.values())
            self._commands.clear()
            ended = self._ended
        if socket is not None:
            socket.abort()
        self.progress.end()
        self._end_calls()
        lost = ServerError(ended) if ended else ConnectionLostError(
            f"the connection to {self._url} was lost before the answer came: {why}")
        for one in pending:
            if one.future.set_running_or_notify_cancel():
                one.future.set_exception(lost)
        for listener in commands:  # they have ended with the connection
            listener.finish(lost)

    def _write(self, line: bytes) -> None:
        socket = self._socket
        if socket is None:
            raise WebSocketEnded("the connection is lost")
        socket.send(line.rstrip(b"\n"))

    def close(self) -> None:
        """Ends the connection; sessions stay until they are deleted or their time is over."""
        with self._lock:
            self._ended = self._ended or "the connection was closed"
            socket = self._socket
        if socket is not None:
            socket.close()
            self._lose(socket, "it was closed")

    close_later = close

    def abandon(self) -> None:
        """In a forked child: the connection is the parent's, who goes on with it."""
        self._ended = "the connection belongs to the process that this one was forked from"
        self._lock = threading.Lock()
        self._connect_lock = threading.RLock()
        self._socket = None


def _set(future: "Future[Any]", value: Any = None, error: Optional[BaseException] = None) -> None:
    if not future.set_running_or_notify_cancel():
        return
    if error is not None:
        future.set_exception(error)
    else:
        future.set_result(value)


def _copy(done: "Future[Any]", to: "Future[Any]") -> None:
    error = done.exception()
    _set(to, error=error) if error is not None else _set(to, done.result())
