# SPDX-License-Identifier: Apache-2.0
"""The values that sandboxes answer with."""
from __future__ import annotations

import base64
import html
from dataclasses import dataclass, field
from typing import Any, Literal, Optional

from ._errors import CommandError
from ._given import StrPath
from ._results import Figure, printed_html


@dataclass
class CommandResult:
    """How a command ended, and what it printed."""

    stdout: str
    stderr: str
    exit_code: int
    execution_time_ms: float
    status: str = field(default="exited", compare=False, repr=False)
    """"exited", "signaled", "timedOut", "killed" or "notStarted"."""
    reason: str = field(default="", compare=False, repr=False)
    """One sentence for anything but "exited"."""
    truncated: bool = field(default=False, compare=False, repr=False)
    """Whether it printed more than was kept."""
    figures: list[Figure] = field(default_factory=list, compare=False, repr=False)
    """What it drew with matplotlib: of a command, the figures that its Python programs showed."""

    @property
    def ok(self) -> bool:
        """Whether the exit code is 0."""
        return self.exit_code == 0

    def check(self) -> "CommandResult":
        """Itself; raises `CommandError` when the exit code is not 0."""
        if not self.ok:
            why = self.reason or self.stderr.strip().rpartition("\n")[2]
            raise CommandError(self, f"exit code {self.exit_code}" + (f": {why}" if why else ""))
        return self

    def _repr_html_(self) -> str:
        parts = printed_html(self.stdout, self.stderr)
        if self.exit_code:
            note = html.escape(self.reason) or f"exit code {self.exit_code}"
            parts.append(f"<small>{note}</small>")
        parts += [figure._html() for figure in self.figures]
        return "".join(parts) or f"<small>done in {self.execution_time_ms:.0f} ms</small>"


@dataclass
class PythonResult(CommandResult):
    """How Python code ended, what it printed, and the figures that it drew."""

    result: Optional[str] = None
    """The repr of the last expression, if it has a value."""
    error_type: Optional[str] = None
    """The class of the exception that ended the code."""

    def _repr_html_(self) -> str:
        value = f"<pre>{html.escape(self.result)}</pre>" if self.result is not None else ""
        shown = self.stdout or self.stderr or self.figures or not value
        return (super()._repr_html_() if shown else "") + value


@dataclass
class TraceEvent:
    """One event of a traced execution."""

    line: int
    """In the text of its file; 0: of the code itself."""
    event: dict[str, Any]
    """`{"type": "line" | "call" | "return" | "exception" | ..., ...}`"""
    context: Optional[Any] = None
    """Arguments, the value returned, ..."""


@dataclass
class FileInfo:
    """A file or a folder. Symbolic links are what they lead to."""

    name: str
    type: Literal["file", "dir"]
    size: int


@dataclass
class FileDetails:
    """All that is known of an entry, also of a symbolic link itself."""

    name: str
    type: Literal["file", "dir", "symlink", "other"]
    size: int
    mode: int
    modified_ms: float
    created_ms: float
    target: Optional[str] = None


@dataclass
class Mount:
    """A folder or a regular file of this machine in the sandbox."""

    host: StrPath
    guest: StrPath
    read_only: bool = False


@dataclass
class HistoryEntry:
    """A command that was run."""

    index: int
    command: str
    exit_code: int
    timestamp_ms: float
    execution_time_ms: float


@dataclass
class Usage:
    """What a sandbox uses now."""

    file_bytes: int
    file_inodes: int
    memory_bytes: int
    processes: int


@dataclass
class Packages:
    """Python packages of a sandbox, by name."""

    installed: list[str]
    available: list[str]



def command_result(reply: dict[str, Any], stdout: str | None = None,
                   stderr: str | None = None) -> CommandResult:
    """The result of `run`; what was streamed is given as `stdout` and `stderr`."""
    return CommandResult(**_common(reply, stdout, stderr))


def python_result(reply: dict[str, Any], stdout: str | None = None,
                  stderr: str | None = None) -> PythonResult:
    """The result of `python.execute`."""
    error = reply.get("error") or {}
    return PythonResult(**_common(reply, stdout, stderr), result=reply.get("result"),
                        error_type=error.get("type"))


def _common(reply: dict[str, Any], stdout: str | None, stderr: str | None) -> dict[str, Any]:
    return {
        "stdout": reply["stdout"] if stdout is None else stdout,
        "stderr": reply["stderr"] if stderr is None else stderr + reply["stderr"],
        "exit_code": reply["exitCode"],
        "execution_time_ms": reply["executionTimeMs"],
        "status": reply.get("status", "exited"),
        "reason": reply.get("reason", ""),
        "truncated": bool(reply.get("stdoutTruncated") or reply.get("stderrTruncated")),
        "figures": [Figure(base64.b64decode(f["data"]), f["mimeType"], f.get("path"))
                    for f in reply.get("figures", [])],
    }
