# SPDX-License-Identifier: Apache-2.0
"""The server process, and the requests that are sent to it.

One server holds all sandboxes of this process. It is started with the first one and ends with the
last one, with this process, or when this process is killed. It does not survive `os.fork`: a child
starts its own.
"""
from __future__ import annotations

import json
import os
import subprocess
import tempfile
import threading
from concurrent.futures import Future
from typing import IO, Any, Callable, Dict, Optional, Protocol, Union

from ._binary import find_binary
from ._calls import Call
from ._errors import SandboxError, ServerError, error_of
from ._progress import Progress
from ._types import TraceEvent
from ._wire import line_of, request_line

OutputHandler = Callable[[str, Any], None]
"""Told (stream, data) on the thread that reads; stream is "stdout" or "stderr", or "trace" with a TraceEvent."""
QuestionHandler = Callable[[str, Dict[str, Any], "Callable[[Any], None]", "Callable[[str, str], None]"], None]
"""Told (method, params, reply, fail) on the thread that reads; answers by one of both, later."""

_END_SECONDS = 5
_SHOWN_BYTES = 200


def _message_of(line: bytes) -> "Optional[dict[str, Any]]":
    """None: it is no message."""
    try:
        message = json.loads(line)
    except ValueError:
        return None
    return message if isinstance(message, dict) else None


class CallAnswerer(Protocol):
    """Who begins calls of the commands that this process serves in a sandbox."""

    @property
    def descriptions(self) -> "list[dict[str, str]]":
        """The commands, as the server is told of them."""
        ...

    def invoke(self, call: Call, sandbox_id: str, reply: "Callable[[Any], None]",
               fail: "Callable[[str, str], None]") -> None:
        """On the thread that reads: returns at once."""


class CommandListener(Protocol):
    """Who is told of a command that was started, on the thread that reads."""

    def put(self, stream: str, text: str) -> None:
        """It has printed that."""

    def finish(self, end: Union[Dict[str, Any], SandboxError]) -> None:
        """It has ended, or nothing is known of it any more."""


class _Pending:
    __slots__ = ("future", "on_output", "on_question", "command")

    def __init__(self, on_output: Optional[OutputHandler] = None, on_question: Optional[QuestionHandler] = None,
                 command: Optional[CommandListener] = None) -> None:
        self.future: "Future[Any]" = Future()
        self.on_output = on_output
        self.on_question = on_question
        self.command = command


class Request:
    """One request on its way: its answer, and the way to cancel it."""

    def __init__(self, server: "Server", number: int, sandbox_id: Optional[str],
                 future: "Future[Any]") -> None:
        self._server = server
        self._number = number
        self._sandbox_id = sandbox_id
        self.future = future

    def result(self) -> Any:
        """Waits for the answer. An interrupt (Ctrl-C) cancels the request and goes on."""
        try:
            return self.future.result()
        except (KeyboardInterrupt, SystemExit):
            self.cancel()
            raise

    def cancel(self) -> None:
        """Takes the request back, or stops what it started; does not wait."""
        params: dict[str, Any] = {"id": self._number}
        if self._sandbox_id is not None:
            params["sandboxId"] = self._sandbox_id
        try:
            self._server.submit("cancel", params)
        except SandboxError:
            pass  # the server has ended, and the request with it


class Server:
    """A `cloche rpc` process. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._write_lock = threading.Lock()
        self._pending: dict[int, _Pending] = {}
        self._commands: dict[int, CommandListener] = {}
        self._answerers: dict[str, CallAnswerer] = {}
        self._calls: dict[int, Call] = {}
        self._last = 0
        self._ended: Optional[str] = None
        self._users = 0
        self.progress: Progress = Progress()
        self._binary = find_binary()
        self._was_heard = False
        self._foreign: Optional[bytes] = None  # what it printed that is no message
        self._log: IO[bytes] = tempfile.TemporaryFile()
        self._process = self._start()
        self._reader = threading.Thread(target=self._read, name="cloche reader", daemon=True)
        self._reader.start()

    def _start(self) -> "subprocess.Popen[bytes]":
        try:
            return subprocess.Popen(
                [self._binary, "rpc", "--parent", str(os.getpid())], stdin=subprocess.PIPE,
                stdout=subprocess.PIPE, stderr=self._log, start_new_session=True)
        except OSError as error:
            self._log.close()
            raise ServerError(f"the server {self._binary} cannot be started: {error.strerror or error}") from error

    @property
    def pid(self) -> int:
        """The number of the server's process."""
        return self._process.pid

    @property
    def is_ready(self) -> bool:
        """Whether a request can be sent at once; else `make_ready` may wait for that."""
        return True

    def make_ready(self) -> None:
        """Waits until a request can be sent. Raises ServerError."""

    def session_of(self, sandbox_id: str) -> Optional[str]:
        """The session that a sandbox is; None: it is no session."""
        return None

    @property
    def is_running(self) -> bool:
        """Whether it takes requests."""
        return self._ended is None

    def has(self, sandbox_id: str) -> bool:
        """Whether it takes requests for a sandbox, as far as is known."""
        return self.is_running

    def submit(self, method: str, params: dict[str, Any], on_output: Optional[OutputHandler] = None,
               on_question: Optional[QuestionHandler] = None,
               command: Optional[CommandListener] = None) -> Request:
        """Sends a request; its answer comes as the request's future. What the server asks meanwhile goes
        to `on_question`; what becomes of a command that the request starts, to `command`."""
        pending = _Pending(on_output, on_question, command)
        with self._lock:
            if self._ended is not None:
                raise ServerError(self._ended)
            self._last += 1
            number = self._last
            self._pending[number] = pending
        try:
            self._write(request_line(number, method, params))
        except BaseException as error:
            with self._lock:
                self._pending.pop(number, None)
            if isinstance(error, (OSError, ValueError)) and not isinstance(error, SandboxError):
                if threading.current_thread() is not self._reader:
                    self._reader.join(timeout=1)  # it may still read what the server has said instead
                raise ServerError(self._ended or self._why()) from error
            raise
        return Request(self, number, params.get("sandboxId"), pending.future)

    def call(self, method: str, params: dict[str, Any]) -> Any:
        """Sends a request and waits for the answer."""
        return self.submit(method, params).result()

    def _write(self, line: bytes) -> None:
        stdin = self._process.stdin
        assert stdin is not None
        with self._write_lock:
            stdin.write(line)
            stdin.flush()

    def _read(self) -> None:
        stdout = self._process.stdout
        assert stdout is not None
        try:
            for line in stdout:
                message = _message_of(line)
                if message is None:
                    # It may run on, and would be waited for.
                    self._foreign = line
                    self._process.kill()
                    break
                self._was_heard = True
                self._handle(message)
        except (OSError, ValueError):
            pass
        self._process.wait()
        self._end()

    def _handle(self, message: dict[str, Any]) -> None:
        """Takes a message. Never raises: this thread reads for all sandboxes, and a message that cannot be
        handled costs itself alone."""
        try:
            self._take(message)
        except Exception as error:
            if "method" in message and "id" in message:
                self._answers_to(message["id"])[1](str(error), type(error).__name__)

    def _take(self, message: dict[str, Any]) -> None:
        method = message.get("method")
        if method is None:
            self._answer(message)
        elif method == "output":
            params = message["params"]
            self._tell(params["requestId"], params["stream"], params["data"])
        elif method == "trace":
            params = message["params"]
            self._tell(params["requestId"], "trace", TraceEvent(params["line"], params["event"], params["context"]))
        elif method == "command.output":
            params = message["params"]
            with self._lock:
                listener = self._commands.get(params["command"])
            if listener is not None:
                listener.put(params["stream"], params["data"])
        elif method == "command.exit":
            params = message["params"]
            with self._lock:
                listener = self._commands.pop(params["command"], None)
            if listener is not None:
                listener.finish(params)
        elif method in ("call.input", "call.taken", "call.end"):
            self._tell_call(method, message["params"])
        elif method == "command.invoke":
            self._invoke(message)
        elif method == "progress":
            self.progress.begin(message["params"]["message"])
        elif "id" in message:
            self._ask(message)

    def serve_commands(self, sandbox_id: str, answerer: Optional[CallAnswerer]) -> None:
        """Who answers from now on when a command of this process is called in a sandbox."""
        with self._lock:
            if answerer is None:
                self._answerers.pop(sandbox_id, None)
            else:
                self._answerers[sandbox_id] = answerer

    def answerer_of(self, sandbox_id: str) -> Optional[CallAnswerer]:
        """None: there is none."""
        with self._lock:
            return self._answerers.get(sandbox_id)

    def _invoke(self, message: dict[str, Any]) -> None:
        params = message["params"]
        call = Call(self, params)
        to_server, to_server_failed = self._answers_to(message["id"])

        def reply(result: Any) -> None:
            self._drop_call(call.number)
            to_server(result)

        def fail(text: str, kind: str) -> None:
            self._drop_call(call.number)
            to_server_failed(text, kind)

        with self._lock:
            answerer = self._answerers.get(params["sandboxId"])
            self._calls[call.number] = call
        if answerer is None:
            fail("nobody serves this command any more", "LookupError")
        else:
            answerer.invoke(call, params["sandboxId"], reply, fail)

    def _tell_call(self, method: str, params: dict[str, Any]) -> None:
        with self._lock:
            call = self._calls.get(params["call"])
        if method == "call.end":
            self._drop_call(params["call"])
        if call is not None:
            call.take(method, params)

    def _drop_call(self, number: int) -> None:
        with self._lock:
            self._calls.pop(number, None)

    def _end_calls(self) -> None:
        with self._lock:
            calls = list(self._calls.values())
            self._calls.clear()
        for call in calls:
            call.finish()

    def _tell(self, number: int, stream: str, data: Any) -> None:
        with self._lock:
            pending = self._pending.get(number)
        if pending is not None and pending.on_output is not None:
            pending.on_output(stream, data)

    def _answer(self, message: dict[str, Any]) -> None:
        error = message.get("error")
        with self._lock:
            pending = self._pending.pop(message.get("id") or 0, None)
            idle = not self._pending
            if pending is not None and pending.command is not None and error is None:
                self._commands[message["result"]["command"]] = pending.command
        if idle:
            self.progress.end()
        if pending is None or not pending.future.set_running_or_notify_cancel():
            return
        if error is None:
            pending.future.set_result(message["result"])
        else:
            pending.future.set_exception(error_of(error["code"], error["message"], error.get("data")))

    def _ask(self, message: dict[str, Any]) -> None:
        params = message.get("params", {})
        reply, fail = self._answers_to(message["id"])
        with self._lock:
            pending = self._pending.get(params.get("requestId") or 0)
        if pending is None or pending.on_question is None:
            fail("nobody answers", "LookupError")
        else:
            pending.on_question(message["method"], params, reply, fail)

    def _answers_to(self, number: Any) -> "tuple[Callable[[Any], None], Callable[[str, str], None]]":
        def reply(result: Any) -> None:
            """Raises TypeError or ValueError for what JSON has not, or is too long."""
            self._try_write(line_of({"jsonrpc": "2.0", "id": number, "result": result}, allow_nan=False))

        def fail(text: str, kind: str) -> None:
            self._try_write(line_of({"jsonrpc": "2.0", "id": number,
                                   "error": {"code": 1, "message": text.encode("utf-8", "replace").decode(), "data": {"type": kind}}}))

        return reply, fail

    def _try_write(self, line: bytes) -> None:
        try:
            self._write(line)
        except (OSError, ValueError):
            pass  # the server has ended: nobody waits for the answer

    def _why(self) -> str:
        """Why the server takes no more requests, with its last words."""
        try:
            self._process.wait(timeout=1)
        except subprocess.TimeoutExpired:
            pass
        status = self._process.poll()
        try:
            size = self._log.seek(0, os.SEEK_END)
            self._log.seek(max(0, size - 2000))
            words = self._log.read().decode("utf-8", "replace").strip().rpartition("\n")[2]
        except (OSError, ValueError):
            words = ""
        if self._foreign is not None:
            shown = self._foreign[:_SHOWN_BYTES].decode("utf-8", "replace").strip()
            return f"{self._binary} says what is no message of Cloche's: {shown!r}"
        text = "the server has ended" if self._was_heard else f"the server {self._binary} has ended"
        if status:
            text += f" with status {status}" if status > 0 else f" by signal {-status}"
        return text + (f": {words}" if words else "")

    def _end(self) -> None:
        why = self._why()
        with self._lock:
            self._ended = self._ended or why
            pending = list(self._pending.values())
            self._pending.clear()
            commands = list(self._commands.values())
            self._commands.clear()
        self.progress.end()
        self._end_calls()
        for listener in commands:
            listener.finish(ServerError(why))
        for one in pending:
            if one.future.set_running_or_notify_cancel():
                one.future.set_exception(ServerError(why))
        for pipe in (self._process.stdin, self._process.stdout, self._log):
            try:
                if pipe is not None:
                    pipe.close()
            except OSError:
                pass

    def close(self) -> None:
        """Ends the server and waits for it. A second time does nothing."""
        try:
            self.submit("kill", {})
        except SandboxError:
            pass
        self.close_later()
        try:
            self._process.wait(timeout=_END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if threading.current_thread() is not self._reader:
            self._reader.join(timeout=_END_SECONDS)

    def close_later(self) -> None:
        """Tells the server that there is no more to come: it ends by itself. Does not wait."""
        with self._lock:
            self._ended = self._ended or "the server was closed"
        try:
            if self._process.stdin is not None:
                self._process.stdin.close()
        except (OSError, ValueError):
            pass

    def abandon(self) -> None:
        """In a forked child: lets go of what belongs to the parent."""
        self._ended = "the server belongs to the process that this one was forked from"
        self._lock = threading.Lock()
        self._write_lock = threading.Lock()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                try:
                    os.close(pipe.fileno())
                except (OSError, ValueError):
                    pass
        self._process.returncode = 0  # nobody here may wait for it
