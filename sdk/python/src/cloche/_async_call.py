# SPDX-License-Identifier: Apache-2.0
"""A call of a command that a coroutine function of this process is."""
from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, AsyncIterator, List

from ._calls import PIECE_BYTES, pieces

if TYPE_CHECKING:
    from ._calls import Call
    from .command_call import Data


class CommandOutput:
    """Where a command prints to: text, as UTF-8, or bytes."""

    def __init__(self, call: "Call", stream: str, changed: asyncio.Event) -> None:
        self._call = call
        self._stream = stream
        self._changed = changed

    async def write(self, data: "Data") -> None:
        """All of it; see `cloche.CommandOutput.write`."""
        for piece in pieces(data.encode("utf-8", "surrogateescape") if isinstance(data, str) else data):
            while True:
                self._changed.clear()
                if self._call.try_write(self._stream, piece):
                    break
                await self._changed.wait()

    def __repr__(self) -> str:
        return f"<{self._stream} of {self._call.name}>"


class CommandInput:
    """What a command reads: bytes. Nothing is taken before it is read. `async for` gives its lines."""

    def __init__(self, call: "Call", changed: asyncio.Event) -> None:
        self._call = call
        self._changed = changed
        self._rest = b""

    async def read(self, size: int = -1) -> bytes:
        """All that there is until its end; or what there is, `size` bytes at most, b"" at the end."""
        if size >= 0:
            taken, self._rest = self._rest[:size], self._rest[size:]
            return taken or (await self._more(size) if size else b"")
        parts = [self._rest]
        self._rest = b""
        while data := await self._more(-1):
            parts.append(data)
        return b"".join(parts)

    async def readline(self) -> bytes:
        """The next line with its end; b"" at the end."""
        parts: List[bytes] = []
        while data := self._rest or await self._more(PIECE_BYTES):
            line, end, self._rest = data.partition(b"\n")
            parts.append(line + end)
            if end:
                break
            self._rest = b""
        return b"".join(parts)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while line := await self.readline():
            yield line

    async def _more(self, size: int) -> bytes:
        while True:
            self._changed.clear()
            data = self._call.try_read(size)
            if data is not None:
                return data
            await self._changed.wait()

    def __repr__(self) -> str:
        return f"<stdin of {self._call.name}>"


class CommandCall:
    """One call of a command of `Sandbox(commands=...)`; see `cloche.CommandCall`. When the process ends
    before the function the task of that is cancelled.

        async def upper(call):
            async for line in call.stdin:
                await call.stdout.write(line.upper())
    """

    def __init__(self, call: "Call", loop: asyncio.AbstractEventLoop) -> None:
        # One each: they may wait at the same time.
        changed = [asyncio.Event() for _ in range(3)]

        def tell() -> None:
            try:
                for event in changed:
                    loop.call_soon_threadsafe(event.set)
            except RuntimeError:
                pass  # the loop is closed: nobody waits

        call.on_change(tell)
        self._call = call
        self.name: str = call.name
        self.args: List[str] = call.args
        """Without the name."""
        self.cwd: str = call.cwd
        self.env: dict[str, str] = call.env
        self.stdin: CommandInput = CommandInput(call, changed[0])
        self.stdout: CommandOutput = CommandOutput(call, "stdout", changed[1])
        self.stderr: CommandOutput = CommandOutput(call, "stderr", changed[2])

    @property
    def ended(self) -> bool:
        """Whether the process is gone."""
        return self._call.ended

    def __repr__(self) -> str:
        return f"<aio.CommandCall {self.name} {self.args}>"
