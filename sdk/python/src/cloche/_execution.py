# SPDX-License-Identifier: Apache-2.0
"""What the two kinds of `PythonSession` have in common: limits, results, errors, and the state."""
from __future__ import annotations

import base64
import json
from dataclasses import dataclass, field
from typing import Any, Callable, Iterable, Optional, Type, Union

from ._callbacks import CallbackSet, named_functions
from ._errors import (ExecutionCancelledError, ExecutionError, ExecutionLimitError, ExecutionTimeoutError,
                      InterpreterEndedError, SandboxArgumentError)
from ._given import bytes_of, local_path, names_of
from ._operations import Operation, StrPath
from ._results import ExecutionResult, Figure
from ._types import TraceEvent
from ._wire import from_base64, to_base64

OnTrace = Callable[[TraceEvent], object]


@dataclass
class PythonState:
    """The names of a session, as `PythonSession.snapshot_state` gives them."""

    data: bytes = field(repr=False)
    left_out: dict[str, str] = field(default_factory=dict)
    """Names that are not in it, and why."""


@dataclass(frozen=True)
class ExecutionOptions:
    """What each execution of a session may use."""

    timeout_ms: Optional[float] = None
    cpu_time_ms: Optional[float] = None
    max_steps: Optional[int] = None
    max_memory_bytes: Optional[int] = None
    max_callbacks: Optional[int] = None
    callback_timeout_ms: Optional[float] = None
    max_output_bytes: Optional[int] = None
    stop_at_output_limit: bool = False
    trace_files: tuple[str, ...] = ()

    def params(self, code: str, *, timeout_ms: Optional[float], stream: bool, trace: bool,
               figures: bool) -> dict[str, Any]:
        """The parameters of `python.execute`, but for the callbacks."""
        if not isinstance(code, str):
            raise SandboxArgumentError("code is a string")
        params: dict[str, Any] = {"code": code, "detail": True, "tracebackApart": True, "figures": figures,
                                  "stream": stream}
        given = {"timeoutMs": self.timeout_ms if timeout_ms is None else timeout_ms,
                 "cpuTimeMs": self.cpu_time_ms, "steps": self.max_steps, "memoryBytes": self.max_memory_bytes,
                 "maxCallbacks": self.max_callbacks, "outputLimitBytes": self.max_output_bytes}
        params.update((name, value) for name, value in given.items() if value is not None)
        if self.stop_at_output_limit:
            params["onOutputLimit"] = "stop"
        if trace:
            params["trace"] = {"files": list(self.trace_files)}
        return params

    def describe(self, descriptions: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Callbacks as `python.execute` takes them, with their time limit."""
        if self.callback_timeout_ms is None:
            return descriptions
        return [{**one, "timeoutMs": self.callback_timeout_ms} for one in descriptions]


class FunctionTable:
    """The functions that code of a session can call; changes count from the next execution on."""

    def __init__(self, functions: Optional[CallbackSet]) -> None:
        self.functions = named_functions(functions or ())

    def add(self, function: Callable[..., Any], name: Optional[str]) -> None:
        self.functions = {**self.functions,
                          **named_functions([function] if name is None else {name: function})}

    def remove(self, name: str) -> bool:
        left = dict(self.functions)
        found = left.pop(name, None) is not None
        self.functions = left
        return found


def refuse_with_sandbox(sandbox: Any, kind: type, **options: Any) -> None:
    """Options of a sandbox that is made, for a session in one that is there, and anything else than one."""
    if not isinstance(sandbox, kind):
        raise SandboxArgumentError(f"sandbox is a {kind.__module__.partition('.sandbox')[0]}.Sandbox, and not {type(sandbox).__name__}")
    for name, value in options.items():
        if value:
            raise SandboxArgumentError(f"{name} is of the sandbox: give it to the one that you give as sandbox")


def execution_result(reply: dict[str, Any], stdout: Optional[str], stderr: Optional[str]) -> ExecutionResult:
    """The result of an execution that has come to its end; raises `ExecutionError` for any other."""
    value = reply.get("resultJson")
    result = ExecutionResult(
        stdout=reply["stdout"] if stdout is None else stdout,
        stderr=reply["stderr"] if stderr is None else stderr, result=reply["result"],
        value=None if value is None else _json(value), exit_code=reply["exitCode"],
        execution_time_ms=reply["executionTimeMs"], callback_count=reply["callbackCount"],
        truncated=bool(reply["stdoutTruncated"] or reply["stderrTruncated"]),
        trace_events_dropped=reply["traceEventsDropped"], session_alive=reply["sessionAlive"],
        steps=reply["steps"], peak_memory_bytes=reply["peakMemoryBytes"],
        figures=[Figure(base64.b64decode(one["data"]), one["mimeType"]) for one in reply.get("figures", [])])
    if reply["outcome"] not in ("ok", "exited"):
        raise _error_of(reply, result)
    return result


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None  # a guest may say what it likes


_OUTCOMES: dict[str, Type[ExecutionError]] = {
    "limit": ExecutionLimitError, "cancelled": ExecutionCancelledError, "ended": InterpreterEndedError}


def _error_of(reply: dict[str, Any], result: ExecutionResult) -> ExecutionError:
    raised = reply["error"] or {}
    kind = _OUTCOMES.get(reply["outcome"], ExecutionError)
    if reply["limit"] == "time":
        kind = ExecutionTimeoutError
    error = kind(raised.get("message", "") if kind is ExecutionError else reply["reason"])
    error.type = raised.get("type", "")
    error.traceback = raised.get("traceback", "")
    error.line = raised.get("line")
    error.limit = reply["limit"]
    error.result = result
    return error


def snapshot_state(leave_out: bool, max_bytes: Optional[int]) -> Operation[PythonState]:
    params: dict[str, Any] = {"onUnpicklable": "leaveOut" if leave_out else "fail"}
    if max_bytes is not None:
        params["maxBytes"] = max_bytes
    reply = yield "python.snapshotState", params
    return PythonState(from_base64(reply["data"]), {one["name"]: one["reason"] for one in reply["leftOut"]})


def restore_state(state: Union[PythonState, bytes]) -> Operation[None]:
    data = state.data if isinstance(state, PythonState) else bytes(bytes_of(state))
    yield "python.restoreState", {"data": to_base64(data)}


def clear_state() -> Operation[None]:
    yield "python.clearState", {}


def checkpoint(path: StrPath) -> Operation[None]:
    yield "python.checkpoint", {"path": local_path(path)}


def restore(path: StrPath) -> Operation[None]:
    yield "python.restore", {"path": local_path(path)}


def trace_files(files: Iterable[str]) -> tuple[str, ...]:
    """Globs, of which there may be none."""
    return tuple(names_of(files, "trace_files"))
