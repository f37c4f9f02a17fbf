# SPDX-License-Identifier: Apache-2.0
"""Commands that one talks with while they run: what the two kinds of handle have in common."""
from __future__ import annotations

import threading
from collections import deque
from typing import Any, Callable, Deque, Dict, Iterator, NamedTuple, Optional, Union

from ._errors import SandboxArgumentError, SandboxError
from ._given import StrPath, bytes_of, variables
from ._operations import Operation
from ._types import CommandResult
from ._wire import to_base64

UNREAD_LIMIT = 64 << 20
"""Characters of output that are kept for who reads later; what is more is dropped, and told."""
WRITE_BYTES = 1 << 20


class OutputChunk(NamedTuple):
    """Text that a command has printed."""

    stream: str
    """"stdout" or "stderr"."""
    text: str


class LiveOutput:
    """Output of a command as it comes, and its end. Thread-safe."""

    def __init__(self, changed: Optional[Callable[[], object]] = None) -> None:
        self._condition = threading.Condition()
        self._chunks: Deque[OutputChunk] = deque()
        self._characters = 0
        self._truncated = False
        self._end: Union[Dict[str, Any], SandboxError, None] = None
        self._changed = changed

    def put(self, stream: str, text: str) -> None:
        """For the thread that reads the server's messages, as `finish`."""
        with self._condition:
            if self._characters + len(text) > UNREAD_LIMIT:
                self._truncated = True
                return
            self._chunks.append(OutputChunk(stream, text))
            self._characters += len(text)
            self._condition.notify_all()
        self._tell()

    def finish(self, end: Union[Dict[str, Any], SandboxError]) -> None:
        """How it ended, or why that is not known."""
        with self._condition:
            if self._end is not None:
                return
            if isinstance(end, dict):
                for stream in ("stdout", "stderr"):  # what is left of a character
                    if end[stream]:
                        self._chunks.append(OutputChunk(stream, end[stream]))
            self._end = end
            self._condition.notify_all()
        self._tell()

    def _tell(self) -> None:
        if self._changed is not None:
            self._changed()

    @property
    def has_ended(self) -> bool:
        with self._condition:
            return self._end is not None

    def take(self) -> Optional[OutputChunk]:
        """The next chunk; None: there is none now."""
        with self._condition:
            if not self._chunks:
                return None
            chunk = self._chunks.popleft()
            self._characters -= len(chunk.text)
            return chunk

    def wait_for_more(self) -> None:
        """Until there is a chunk, or the end."""
        with self._condition:
            self._condition.wait_for(lambda: self._chunks or self._end is not None)

    def wait_for_end(self, seconds: Optional[float]) -> bool:
        """Whether it has come in that time."""
        with self._condition:
            return self._condition.wait_for(lambda: self._end is not None, seconds)

    def result(self) -> CommandResult:
        """Of a command that has ended; output is what nobody has taken."""
        with self._condition:
            end = self._end
            assert end is not None
            if isinstance(end, SandboxError):
                raise end
            text = {stream: "".join(chunk.text for chunk in self._chunks if chunk.stream == stream)
                    for stream in ("stdout", "stderr")}
            return CommandResult(text["stdout"], text["stderr"], end["exitCode"], end["executionTimeMs"],
                                 status=end["status"], reason=end["reason"], truncated=self._truncated)


def start_params(command: str, cwd: Optional[StrPath], env: Any, timeout_ms: Optional[float],
                 account: Optional[str]) -> dict[str, Any]:
    """The parameters of `command.start`."""
    if not isinstance(command, str):
        raise SandboxArgumentError("a command is a string")
    given = {"cwd": cwd, "env": variables(env) if env else None, "timeoutMs": timeout_ms,
             "account": account}
    return {"script": command, **{name: value for name, value in given.items() if value is not None}}


def pieces(data: Union[str, bytes, bytearray, memoryview]) -> Iterator[str]:
    """What is written to a command's input, as the wire has it."""
    view = bytes_of(data)
    for start in range(0, len(view), WRITE_BYTES):
        yield to_base64(bytes(view[start:start + WRITE_BYTES]))


def end_input(number: int) -> Operation[None]:
    yield "command.end", {"command": number}


def kill(number: int, signal: int) -> Operation[None]:
    yield "command.kill", {"command": number, "signal": signal}
