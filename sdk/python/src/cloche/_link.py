# SPDX-License-Identifier: Apache-2.0
"""A sandbox's end of the server, for the parts of the API that waits."""
from __future__ import annotations

import queue
from typing import Any, Callable, Optional, TypeVar

from . import _operations as operations
from . import _server
from ._callbacks import refuse_if_waiting
from ._errors import SandboxError, ServerError
from ._given import check_functions
from ._types import TraceEvent

T = TypeVar("T")
OnOutput = Callable[[str], object]
OnTrace = Callable[[TraceEvent], object]


class Link:
    """A sandbox's end of the server, shared by the parts of its API."""

    def __init__(self, server: _server.Server, sandbox_id: str) -> None:
        self.server = server
        self.sandbox_id = sandbox_id
        self.open = True

    def submit(self, method: str, params: dict[str, Any], on_output: Optional[_server.OutputHandler] = None,
               on_question: Optional[_server.QuestionHandler] = None,
               command: Optional[_server.CommandListener] = None) -> _server.Request:
        if not self.open:
            raise ServerError("the sandbox has ended: kill() was called, or nobody had it any more")
        if method != "cancel":
            refuse_if_waiting(self.sandbox_id)
        return self.server.submit(method, {**params, "sandboxId": self.sandbox_id}, on_output,
                                  on_question, command)

    def perform(self, operation: "operations.Operation[T]") -> T:
        """Runs an operation, answer by answer."""
        try:
            method, params = next(operation)
            while True:
                try:
                    answer = self.submit(method, params).result()
                except SandboxError as error:
                    method, params = operation.throw(error)
                else:
                    method, params = operation.send(answer)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]

    def stream(self, method: str, params: dict[str, Any], on_stdout: Optional[OnOutput] = None,
               on_stderr: Optional[OnOutput] = None, on_trace: Optional[OnTrace] = None,
               on_question: Optional[_server.QuestionHandler] = None
               ) -> tuple[dict[str, Any], Optional[str], Optional[str]]:
        """A request whose output goes to callbacks as it comes, on the thread that waits. Gives its
        answer, and what was streamed."""
        check_functions(on_stdout=on_stdout, on_stderr=on_stderr, on_trace=on_trace)
        streamed = bool(params.get("stream"))
        if not streamed and on_trace is None:
            return self.submit(method, params, None, on_question).result(), None, None
        events: "queue.SimpleQueue[Optional[tuple[str, Any]]]" = queue.SimpleQueue()
        request = self.submit(method, params, lambda stream, data: events.put((stream, data)),
                              on_question)
        request.future.add_done_callback(lambda _: events.put(None))
        parts: dict[str, list[str]] = {"stdout": [], "stderr": []}
        handlers: dict[str, Optional[Callable[[Any], object]]] = {
            "stdout": on_stdout, "stderr": on_stderr, "trace": on_trace}
        try:
            while True:
                event = events.get()
                if event is None:
                    break
                stream, data = event
                if stream in parts:
                    parts[stream].append(data)
                handler = handlers[stream]
                if handler is not None:
                    handler(data)
        except BaseException:
            request.cancel()
            raise
        answer = request.result()
        if not streamed:
            return answer, None, None
        return answer, "".join(parts["stdout"]), "".join(parts["stderr"])
