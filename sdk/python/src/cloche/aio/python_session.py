# SPDX-License-Identifier: Apache-2.0
"""A live Python, for asyncio."""
from __future__ import annotations

import asyncio
from typing import Any, Callable, Iterable, Optional, Union

from .. import _execution as execution
from .._callbacks import Callbacks, CallbackSet
from .._execution import ExecutionOptions, FunctionTable, PythonState
from .._operations import StrPath
from .._results import ExecutionResult
from ._link import OnOutput, OnTrace
from .sandbox import Sandbox


class PythonSession:
    """A Python interpreter in a sandbox. Made by `await PythonSession.create(...)`, or by `async with
    PythonSession(...)`; the arguments are those of `cloche.PythonSession`. Callbacks and `on_...` may be
    coroutine functions, and run in this loop."""

    def __init__(self, *, callbacks: Optional[CallbackSet] = None, on_stdout: Optional[OnOutput] = None,
                 on_stderr: Optional[OnOutput] = None, on_trace: Optional[OnTrace] = None,
                 trace_files: Iterable[str] = (), timeout_ms: float = 30_000,
                 cpu_time_ms: Optional[float] = None, max_steps: Optional[int] = None,
                 max_memory_bytes: Optional[int] = None, max_callbacks: Optional[int] = None,
                 callback_timeout_ms: Optional[float] = None, max_output_bytes: Optional[int] = None,
                 stop_at_output_limit: bool = False, network: Any = None, packages: Iterable[str] = (),
                 image: Optional[StrPath] = None, engine: Optional[str] = None, isolation: Optional[str] = None,
                 url: Optional[str] = None, token: Optional[str] = None, sandbox: Optional[Sandbox] = None) -> None:
        self._functions = FunctionTable(callbacks)
        self._options = ExecutionOptions(
            timeout_ms, cpu_time_ms, max_steps, max_memory_bytes, max_callbacks, callback_timeout_ms,
            max_output_bytes, stop_at_output_limit, execution.trace_files(trace_files))
        self._on_stdout, self._on_stderr, self._on_trace = on_stdout, on_stderr, on_trace
        self._owns = sandbox is None
        self.sandbox: Sandbox
        if sandbox is not None:
            execution.refuse_with_sandbox(sandbox, Sandbox, network=network, packages=packages, image=image, engine=engine,
                                           isolation=isolation, url=url, token=token)
            self.sandbox = sandbox
        else:
            self.sandbox = Sandbox(timeout_ms=timeout_ms, packages=packages, network=network, image=image, engine=engine,
                                   isolation=isolation, url=url, token=token)

    @classmethod
    async def create(cls, **options: Any) -> "PythonSession":
        """A session that is ready."""
        session = cls(**options)
        await session.sandbox._start()
        return session

    async def execute(self, code: str, *, timeout_ms: Optional[float] = None,
                      figures: bool = False) -> ExecutionResult:
        """Runs code; see `cloche.PythonSession.execute`."""
        link = self.sandbox._there()
        params = self._options.params(
            code, timeout_ms=timeout_ms, stream=self._on_stdout is not None or self._on_stderr is not None,
            trace=self._on_trace is not None, figures=figures)
        answer = None
        if functions := self._functions.functions:
            handlers = Callbacks(functions, link.sandbox_id, asyncio.get_running_loop())
            params["callbacks"], answer = self._options.describe(handlers.descriptions), handlers.answer
        return execution.execution_result(*await link.stream_async(
            "python.execute", params, self._on_stdout, self._on_stderr, self._on_trace, answer))

    async def cancel(self) -> None:
        """Stops the execution in progress: its code gets an exception, and names stay."""
        await self.sandbox.cancel()

    def add_callback(self, function: Callable[..., Any], name: Optional[str] = None) -> None:
        """From the next execution on the code can call it; one of that name is replaced."""
        self._functions.add(function, name)

    def remove_callback(self, name: str) -> bool:
        """Whether there was one of that name."""
        return self._functions.remove(name)

    async def fork(self) -> "PythonSession":
        """A second session that goes on from here, in a fork of the sandbox."""
        twin = object.__new__(PythonSession)
        twin.__dict__.update(self.__dict__)
        twin._functions = FunctionTable(self._functions.functions)
        twin.sandbox = await self.sandbox.fork()
        twin._owns = True
        return twin

    async def snapshot_state(self, *, leave_out: bool = False, max_bytes: Optional[int] = None) -> PythonState:
        """The session's names; see `cloche.PythonSession.snapshot_state`."""
        return await self.sandbox._there().perform_async(execution.snapshot_state(leave_out, max_bytes))

    async def restore_state(self, state: Union[PythonState, bytes]) -> None:
        """Sets the names of a snapshot; others stay."""
        await self.sandbox._there().perform_async(execution.restore_state(state))

    async def clear_state(self) -> None:
        """Forgets all names."""
        await self.sandbox._there().perform_async(execution.clear_state())

    async def checkpoint(self, path: StrPath) -> None:
        """Writes the whole interpreter to a file of this machine. Not of a session on a server."""
        await self.sandbox._there().perform_async(execution.checkpoint(path))

    async def restore(self, path: StrPath) -> None:
        """Goes on from a checkpoint; what the session was is gone."""
        await self.sandbox._there().perform_async(execution.restore(path))

    async def close(self) -> None:
        """Ends the session, and the sandbox that it has made. A second time does nothing."""
        if self._owns:
            await self.sandbox.kill()

    async def __aenter__(self) -> "PythonSession":
        await self.sandbox._start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"<aio.PythonSession of {self.sandbox!r}>"
