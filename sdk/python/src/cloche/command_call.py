# SPDX-License-Identifier: Apache-2.0
"""A call of a command that a function of this process is."""
from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any, BinaryIO, Iterable, List, Union, cast

from ._calls import PIECE_BYTES, pieces

if TYPE_CHECKING:
    from ._calls import Call

Data = Union[str, bytes, bytearray, memoryview]


class CommandOutput:
    """Where a command prints to: text, as UTF-8, or bytes. `print(..., file=call.stdout)` does, too."""

    def __init__(self, call: "Call", stream: str) -> None:
        self._call = call
        self._stream = stream

    def write(self, data: Data) -> int:
        """All of it; waits while its reader is slow. `CancelledError`: the process is gone, as it is when
        nobody reads what it has written; what else a file says, such as `OSError` for a full one."""
        for piece in pieces(data.encode("utf-8", "surrogateescape") if isinstance(data, str) else data):
            while True:
                seen = self._call.changes
                if self._call.try_write(self._stream, piece):
                    break
                self._call.wait(seen)
        return len(data)

    def writelines(self, lines: Iterable[Data]) -> None:
        """Each of them."""
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        """Nothing: what is written is on its way."""

    def __repr__(self) -> str:
        return f"<{self._stream} of {self._call.name}>"


class _Input(io.RawIOBase):
    def __init__(self, call: "Call") -> None:
        self._call = call

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer).cast("B")
        data = self._more(len(view))
        view[:len(data)] = data
        return len(data)

    def readall(self) -> bytes:
        return b"".join(iter(lambda: self._more(-1), b""))

    def _more(self, size: int) -> bytes:
        while True:
            seen = self._call.changes
            data = self._call.try_read(size)
            if data is not None:
                return data
            self._call.wait(seen)


class CommandCall:
    """One call of a command of `Sandbox(commands=...)`: what a program has from who started it.

        def upper(call):
            for line in call.stdin:
                call.stdout.write(line.upper())
            return 0
    """

    def __init__(self, call: "Call") -> None:
        self._call = call
        self.name: str = call.name
        self.args: List[str] = call.args
        """Without the name."""
        self.cwd: str = call.cwd
        self.env: dict[str, str] = call.env
        self.stdin: BinaryIO = cast(BinaryIO, io.BufferedReader(_Input(call), PIECE_BYTES))
        """Standard input, bytes: nothing is taken from it before it is read."""
        self.stdout: CommandOutput = CommandOutput(call, "stdout")
        self.stderr: CommandOutput = CommandOutput(call, "stderr")

    @property
    def ended(self) -> bool:
        """Whether the process is gone: killed, over its time, or nobody reads what it prints. What is
        returned is dropped then."""
        return self._call.ended

    def __repr__(self) -> str:
        return f"<CommandCall {self.name} {self.args}>"
