# SPDX-License-Identifier: Apache-2.0
"""A sandbox's end of the server, for the parts of the API that awaits."""
from __future__ import annotations

import asyncio
import inspect
from typing import Any, Awaitable, Callable, Optional, TypeVar, Union

from .. import _operations as operations
from .. import _server
from .._errors import SandboxError
from .._given import check_functions
from .._link import Link
from .._types import TraceEvent

T = TypeVar("T")
OnOutput = Callable[[str], Union[object, Awaitable[object]]]
OnTrace = Callable[[TraceEvent], Union[object, Awaitable[object]]]


async def answer_of(request: _server.Request) -> Any:
    """Waits for the answer. The request goes on to its own end, whatever becomes of who waits for it."""
    answer = asyncio.wrap_future(request.future)
    answer.add_done_callback(lambda done: done.cancelled() or done.exception())  # somebody has seen it
    return await asyncio.shield(answer)


class AsyncLink(Link):
    """A sandbox's end of the server, for one that awaits."""

    async def submit_async(self, method: str, params: dict[str, Any],
                           on_output: Optional[_server.OutputHandler] = None,
                           on_question: Optional[_server.QuestionHandler] = None,
                           command: Optional[_server.CommandListener] = None) -> _server.Request:
        if not self.server.is_ready:
            await asyncio.get_running_loop().run_in_executor(None, self.server.make_ready)
        return self.submit(method, params, on_output, on_question, command)

    async def ask(self, method: str, params: dict[str, Any],
                  on_question: Optional[_server.QuestionHandler] = None) -> Any:
        request = await self.submit_async(method, params, None, on_question)
        try:
            return await answer_of(request)
        except asyncio.CancelledError:
            request.cancel()
            raise

    async def perform_async(self, operation: "operations.Operation[T]") -> T:
        try:
            method, params = next(operation)
            while True:
                try:
                    answer = await self.ask(method, params)
                except SandboxError as error:
                    method, params = operation.throw(error)
                else:
                    method, params = operation.send(answer)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]

    async def stream_async(self, method: str, params: dict[str, Any], on_stdout: Optional[OnOutput] = None,
                           on_stderr: Optional[OnOutput] = None, on_trace: Optional[OnTrace] = None,
                           on_question: Optional[_server.QuestionHandler] = None
                           ) -> tuple[dict[str, Any], Optional[str], Optional[str]]:
        """As `Link.stream`, in this loop."""
        check_functions(on_stdout=on_stdout, on_stderr=on_stderr, on_trace=on_trace)
        streamed = bool(params.get("stream"))
        if not streamed and on_trace is None:
            return await self.ask(method, params, on_question), None, None
        loop = asyncio.get_running_loop()
        events: "asyncio.Queue[Optional[tuple[str, Any]]]" = asyncio.Queue()
        handlers: dict[str, Optional[Callable[[Any], Any]]] = {
            "stdout": on_stdout, "stderr": on_stderr, "trace": on_trace}
        parts: dict[str, list[str]] = {"stdout": [], "stderr": []}

        def put(event: Optional[tuple[str, Any]]) -> None:
            try:
                loop.call_soon_threadsafe(events.put_nowait, event)
            except RuntimeError:
                pass  # the loop is closed: nobody waits

        async def consume() -> None:
            while True:
                event = await events.get()
                if event is None:
                    return
                stream, data = event
                if stream in parts:
                    parts[stream].append(data)
                handler = handlers[stream]
                if handler is not None:
                    outcome = handler(data)
                    if inspect.isawaitable(outcome):
                        await outcome

        request = await self.submit_async(method, params, lambda stream, data: put((stream, data)), on_question)
        request.future.add_done_callback(lambda _: put(None))
        try:
            await consume()
            answer = await asyncio.wrap_future(request.future)
        except BaseException:
            request.cancel()
            raise
        if not streamed:
            return answer, None, None
        return answer, "".join(parts["stdout"]), "".join(parts["stderr"])
