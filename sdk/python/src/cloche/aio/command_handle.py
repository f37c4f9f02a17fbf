# SPDX-License-Identifier: Apache-2.0
"""A command that runs, for asyncio."""
from __future__ import annotations

import asyncio
from typing import AsyncIterator, Optional, Union

from .. import _live
from .._errors import SandboxBrokenPipeError, SandboxError
from .._live import LiveOutput, OutputChunk
from .._operations import Operation
from .._types import CommandResult
from ._link import AsyncLink

_AGAIN_SECONDS = 0.01


class CommandHandle:
    """A command of `Commands.start`; see `cloche.CommandHandle`. `async for` gives its output, and leaving
    the `async with` ends it. It is of one event loop."""

    def __init__(self, link: AsyncLink, number: int, output: LiveOutput, changed: asyncio.Event,
                 sandbox: object = None) -> None:
        self._link = link
        self._sandbox = sandbox  # which ends when nobody has it
        self._output = output
        self._changed = changed
        self.number = number
        """By which the server knows it."""

    @property
    def is_running(self) -> bool:
        """Whether it has not ended yet."""
        return not self._output.has_ended

    async def __aiter__(self) -> AsyncIterator[OutputChunk]:
        """What it prints, until its end. A chunk is taken once, whoever iterates."""
        while True:
            self._changed.clear()
            chunk = self._output.take()
            if chunk is not None:
                yield chunk
            elif self._output.has_ended:
                return
            else:
                await self._changed.wait()

    async def write(self, data: Union[str, bytes, bytearray, memoryview]) -> None:
        """Writes to its input; waits where it reads slowly. `BrokenPipeError`: it reads no more."""
        for piece in _live.pieces(data):
            while True:
                try:
                    await self._link.ask("command.write", {"command": self.number, "data": piece})
                    break
                except SandboxError as error:
                    if error.errno_name == "ESRCH":
                        raise SandboxBrokenPipeError("EPIPE: the command has ended", "EPIPE") from error
                    if error.errno_name != "EAGAIN":
                        raise
                await asyncio.sleep(_AGAIN_SECONDS)

    async def close_stdin(self) -> None:
        """Ends its input."""
        if self.is_running:
            await self._perform(_live.end_input(self.number))

    async def kill(self, signal: int = 9) -> None:
        """Sends a signal to it and to what it has started. Nothing for one that has ended."""
        if self.is_running:
            await self._perform(_live.kill(self.number, signal))

    async def wait(self, timeout: Optional[float] = None) -> CommandResult:
        """Waits for its end; see `cloche.CommandHandle.wait`."""
        async def ended() -> None:
            while not self._output.has_ended:
                self._changed.clear()
                if not self._output.has_ended:
                    await self._changed.wait()

        try:
            await asyncio.wait_for(ended(), timeout)
        except asyncio.TimeoutError:
            raise TimeoutError(f"the command has not ended within {timeout} seconds") from None
        return self._output.result()

    async def _perform(self, operation: "Operation[None]") -> None:
        """What means nothing any more where it ends meanwhile."""
        try:
            await self._link.perform_async(operation)
        except SandboxError as error:
            # ESRCH: it has ended, which may be told after this answer.
            if error.errno_name != "ESRCH" and self.is_running and self._link.open:
                raise

    async def __aenter__(self) -> "CommandHandle":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.kill()

    def __repr__(self) -> str:
        return f"<aio.CommandHandle {self.number}, {'running' if self.is_running else 'ended'}>"
