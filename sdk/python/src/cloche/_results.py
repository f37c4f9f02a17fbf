# SPDX-License-Identifier: Apache-2.0
"""What code has printed, drawn and resulted in."""
from __future__ import annotations

import base64
import html
import os
from dataclasses import dataclass, field
from typing import Any, Optional, Union

from ._table import records_table


@dataclass
class Figure:
    """A picture that code drew; a notebook shows it."""

    data: bytes = field(repr=False)
    mime_type: str = "image/png"
    path: Optional[str] = None
    """Its file in the sandbox, where a program showed it with `plt.show()`."""

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return {self.mime_type: base64.b64encode(self.data).decode(),
                "text/plain": f"<{self.mime_type}, {len(self.data)} bytes>"}

    def _repr_png_(self) -> Optional[bytes]:
        return self.data if self.mime_type == "image/png" else None

    def _html(self) -> str:
        return f'<img src="data:{self.mime_type};base64,{base64.b64encode(self.data).decode()}">'

    def save(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Writes the picture to a file of this machine."""
        with open(path, "wb") as file:
            file.write(self.data)


@dataclass
class ExecutionResult:
    """What code has printed, and the value of its last statement."""

    stdout: str
    stderr: str
    result: Optional[str] = None
    """The repr of the last statement, where that is an expression with a value other than None."""
    value: Any = None
    """The same value, where JSON has such a value."""
    exit_code: int = 0
    """Of `sys.exit`."""
    execution_time_ms: float = 0
    callback_count: int = 0
    truncated: bool = False
    """Whether it printed more than was kept."""
    trace_events_dropped: int = 0
    steps: Optional[int] = None
    """The lines that were executed, where a limit of steps was given: counting makes code slower."""
    peak_memory_bytes: Optional[int] = None
    """What the interpreter has had at most since it started, with its libraries; None where it was killed."""
    session_alive: bool = True
    """Whether names are still there; otherwise the next execution starts afresh."""
    figures: list[Figure] = field(default_factory=list, repr=False)

    def _repr_html_(self) -> str:
        parts = printed_html(self.stdout, self.stderr) + [figure._html() for figure in self.figures]
        if self.result is not None:
            parts.append(records_table(self.value) or f"<pre>{html.escape(self.result)}</pre>")
        return "".join(parts) or f"<small>done in {self.execution_time_ms:.0f} ms</small>"


def printed_html(stdout: str, stderr: str) -> list[str]:
    """What was printed, as a notebook shows it."""
    parts = []
    if stdout:
        parts.append(f"<pre>{html.escape(stdout)}</pre>")
    if stderr:
        parts.append(f'<pre style="color:#b00020">{html.escape(stderr)}</pre>')
    return parts
