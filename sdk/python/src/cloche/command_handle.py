# SPDX-License-Identifier: Apache-2.0
"""A command that runs: its output as it comes, its input, its end."""
from __future__ import annotations

import time
from typing import Iterator, Optional, Union

from . import _live
from ._errors import SandboxBrokenPipeError, SandboxError
from ._link import Link
from ._live import LiveOutput, OutputChunk
from ._operations import Operation
from ._types import CommandResult

_AGAIN_SECONDS = 0.01


class CommandHandle:
    """A command of `Commands.start`, which runs beside what else the sandbox does.

        with sbx.commands.start("sort") as command:
            command.write("b\\na\\n")
            command.close_stdin()
            for stream, text in command:
                print(text, end="")
            command.wait().exit_code

    Leaving the `with` ends it. Thread-safe.
    """

    def __init__(self, link: Link, number: int, output: LiveOutput, sandbox: object = None) -> None:
        self._link = link
        self._sandbox = sandbox  # which ends when nobody has it
        self._output = output
        self.number = number
        """By which the server knows it."""

    @property
    def is_running(self) -> bool:
        """Whether it has not ended yet."""
        return not self._output.has_ended

    def __iter__(self) -> Iterator[OutputChunk]:
        """What it prints, until its end. A chunk is taken once, whoever iterates."""
        while True:
            chunk = self._output.take()
            if chunk is not None:
                yield chunk
            elif self._output.has_ended:
                return
            else:
                self._output.wait_for_more()

    def write(self, data: Union[str, bytes, bytearray, memoryview]) -> None:
        """Writes to its input; waits where it reads slowly. `BrokenPipeError`: it reads no more."""
        for piece in _live.pieces(data):
            while True:
                try:
                    self._link.submit("command.write", {"command": self.number, "data": piece}).result()
                    break
                except SandboxError as error:
                    if error.errno_name == "ESRCH":
                        raise SandboxBrokenPipeError("EPIPE: the command has ended", "EPIPE") from error
                    if error.errno_name != "EAGAIN":
                        raise
                time.sleep(_AGAIN_SECONDS)

    def close_stdin(self) -> None:
        """Ends its input."""
        if self.is_running:
            self._perform(_live.end_input(self.number))

    def kill(self, signal: int = 9) -> None:
        """Sends a signal to it and to what it has started. Nothing for one that has ended."""
        if self.is_running:
            self._perform(_live.kill(self.number, signal))

    def wait(self, timeout: Optional[float] = None) -> CommandResult:
        """Waits for its end, `timeout` seconds at most (`TimeoutError`). The result has the output that
        was not iterated over."""
        if not self._output.wait_for_end(timeout):
            raise TimeoutError(f"the command has not ended within {timeout} seconds")
        return self._output.result()

    def _perform(self, operation: "Operation[None]") -> None:
        """What means nothing any more where it ends meanwhile."""
        try:
            self._link.perform(operation)
        except SandboxError as error:
            # ESRCH: it has ended, which may be told after this answer.
            if error.errno_name != "ESRCH" and self.is_running and self._link.open:
                raise

    def __enter__(self) -> "CommandHandle":
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def __repr__(self) -> str:
        return f"<CommandHandle {self.number}, {'running' if self.is_running else 'ended'}>"
