# SPDX-License-Identifier: Apache-2.0
"""A live Python that this process drives, and that can call it back."""
from __future__ import annotations

from typing import Any, Callable, Iterable, Optional, Union

from . import _execution as execution
from ._callbacks import Callbacks, CallbackSet
from ._execution import ExecutionOptions, FunctionTable, PythonState
from ._link import OnOutput, OnTrace
from ._operations import StrPath
from ._results import ExecutionResult
from .sandbox import Sandbox


class PythonSession:
    """A Python interpreter in a sandbox: names stay from one execution to the next, `await` works at the
    top level, and functions of this process are called with `await name(key=value)`.

    Thread-safe; executions of one session queue. It is the Python of `sandbox.python` too.

    Args:
        callbacks: functions that the code can call: a mapping from names (dots make namespaces), or an
            iterable of functions. Coroutine functions are awaited.
        on_stdout, on_stderr: called with text as it is printed, on the thread that waits.
        on_trace: called with a `TraceEvent` for each line, call, return and exception; setting it turns
            tracing on.
        trace_files: globs of the files that are traced; absent: the code of the session alone.
        timeout_ms: wall clock of an execution; 0 for none.
        cpu_time_ms: computing time of an execution.
        max_steps: lines of Python that an execution may run; the same code always uses as many.
        max_memory_bytes: of the interpreter; the sandbox's limit when absent.
        max_callbacks: calls of callbacks in an execution.
        callback_timeout_ms: from a call to its answer; over it the code gets a `CallbackTimeout`.
        max_output_bytes: of stdout and stderr, each; what is more is dropped, or ends the execution with
            `stop_at_output_limit`.
        network, packages, image, engine, isolation, url, token: of the sandbox that is made; see `Sandbox`.
        sandbox: one that is there, instead; it is not ended with the session.
    """

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

    def execute(self, code: str, *, timeout_ms: Optional[float] = None, figures: bool = False) -> ExecutionResult:
        """Runs code and waits for its end.

        Args:
            timeout_ms: instead of the session's.
            figures: collect what matplotlib drew, as `result.figures`.

        Raises:
            ExecutionError: the code raised an exception, or was stopped. Its kinds are
                `ExecutionLimitError`, `ExecutionTimeoutError`, `ExecutionCancelledError` and
                `InterpreterEndedError`; the session can be used on after each of them.
        """
        link = self.sandbox._link
        params = self._options.params(
            code, timeout_ms=timeout_ms, stream=self._on_stdout is not None or self._on_stderr is not None,
            trace=self._on_trace is not None, figures=figures)
        answer = None
        if functions := self._functions.functions:
            handlers = Callbacks(functions, link.sandbox_id)
            params["callbacks"], answer = self._options.describe(handlers.descriptions), handlers.answer
        return execution.execution_result(*link.stream(
            "python.execute", params, self._on_stdout, self._on_stderr, self._on_trace, answer))

    def cancel(self) -> None:
        """Stops the execution in progress, from another thread: its code gets an exception, and names stay."""
        self.sandbox.cancel()

    def add_callback(self, function: Callable[..., Any], name: Optional[str] = None) -> None:
        """From the next execution on the code can call it; one of that name is replaced."""
        self._functions.add(function, name)

    def remove_callback(self, name: str) -> bool:
        """Whether there was one of that name."""
        return self._functions.remove(name)

    def fork(self) -> "PythonSession":
        """A second session that goes on from here, in a fork of the sandbox."""
        twin = object.__new__(PythonSession)
        twin.__dict__.update(self.__dict__)
        twin._functions = FunctionTable(self._functions.functions)
        twin.sandbox = self.sandbox.fork()
        twin._owns = True
        return twin

    def snapshot_state(self, *, leave_out: bool = False, max_bytes: Optional[int] = None) -> PythonState:
        """The session's names, for `restore_state` of any session of this Python version.

        Args:
            leave_out: leave out what cannot be pickled; else that is an error that names it.
        """
        return self.sandbox._link.perform(execution.snapshot_state(leave_out, max_bytes))

    def restore_state(self, state: Union[PythonState, bytes]) -> None:
        """Sets the names of a snapshot; others stay. Bytes that are none are a `ValueError`, and change nothing."""
        self.sandbox._link.perform(execution.restore_state(state))

    def clear_state(self) -> None:
        """Forgets all names."""
        self.sandbox._link.perform(execution.clear_state())

    def checkpoint(self, path: StrPath) -> None:
        """Writes the whole interpreter, with its libraries, to a file of this machine, for `restore` and
        for `image`. Not of a session on a server."""
        self.sandbox._link.perform(execution.checkpoint(path))

    def restore(self, path: StrPath) -> None:
        """Goes on from a checkpoint; what the session was is gone. Files of the sandbox stay."""
        self.sandbox._link.perform(execution.restore(path))

    def close(self) -> None:
        """Ends the session, and the sandbox that it has made. A second time does nothing."""
        if self._owns:
            self.sandbox.kill()

    def __enter__(self) -> "PythonSession":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<PythonSession of sandbox {self.sandbox.id}>"
