# SPDX-License-Identifier: Apache-2.0
"""What goes wrong, as exceptions. All of them are `SandboxError`, which is a `RuntimeError`."""
from __future__ import annotations

import errno
import re
from typing import Any

from ._results import ExecutionResult


class SandboxError(RuntimeError):
    """A sandbox, or the server that holds it, could not do what was asked.

    `errno_name` is the name of the system's error ("ENOENT") where there is one, `reason` a word of the
    server's where it says more ("SESSION_NOT_FOUND").
    """

    reason: str | None = None

    def __init__(self, message: str, errno_name: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.errno_name = errno_name
        if isinstance(self, OSError) and errno_name is not None:
            setattr(self, "errno", getattr(errno, errno_name, None))  # which OSError alone declares

    def __str__(self) -> str:
        return self.message


class ServerError(SandboxError):
    """The server is not there, did not start, has ended, or does not understand a request."""


class ConnectionLostError(ServerError, ConnectionError):
    """The connection to a server was lost while a request was on its way: whether it was done is not
    known. The next request connects again."""


class SandboxLost(ConnectionLostError):
    """A sandbox of a pool is gone, or what became of a call of it is not known: its node, its cell, the
    connection or the sandbox itself has ended. It says nothing about what ran in the sandbox, and comes in
    place of every result that the loss may have changed. The sandbox cannot be used on.

    `session_id` and `node_id` say which one, and where, as far as that is known.
    """

    def __init__(self, message: str, *, session_id: str | None = None, node_id: str | None = None) -> None:
        super().__init__(message)
        self.session_id = session_id
        self.node_id = node_id


class PoolFull(SandboxError, TimeoutError):
    """A pool had no room for a new sandbox in the time that was given; nothing was made."""


class SandboxArgumentError(SandboxError, TypeError, ValueError):
    """An argument has the wrong type or value; the message names it as the wire does."""


class CancelledError(SandboxError):
    """The request was cancelled before its turn came; or, in a function that is a command, the process
    whose program it is has ended."""


class CommandError(SandboxError):
    """A command that was run with `check=True` failed; `result` is its result."""

    def __init__(self, result: object, message: str) -> None:
        super().__init__(message)
        self.result = result

    def __reduce__(self) -> Any:
        """So that it comes out of a process of a pool, which waits for ever for one that does not."""
        return type(self), (self.result, self.message)


class ExecutionError(SandboxError):
    """Code of a `PythonSession` raised an exception, or was stopped.

    `type` is the name of the exception's class, `message` what it says, `traceback` what Python prints
    of it, `line` where in the given code it was raised; `result` has what was printed before.
    """

    type: str = ""
    traceback: str = ""
    line: int | None = None
    limit: str | None = None
    result: ExecutionResult

    def __str__(self) -> str:
        return f"{self.type}: {self.message}" if type(self) is ExecutionError and self.type else self.message


class ExecutionLimitError(ExecutionError):
    """An execution was stopped at one of its limits: `limit` is "time", "cpuTime", "steps", "memory",
    "callbacks" or "output"."""


class ExecutionTimeoutError(ExecutionLimitError, TimeoutError):
    """An execution took longer than its time limit."""


class ExecutionCancelledError(ExecutionError, CancelledError):
    """An execution was cancelled."""


class InterpreterEndedError(ExecutionError):
    """The interpreter is gone, by `os._exit` or a signal, with all names. The next execution starts afresh."""


class SandboxFileNotFoundError(SandboxError, FileNotFoundError):
    """ENOENT."""


class SandboxFileExistsError(SandboxError, FileExistsError):
    """EEXIST."""


class SandboxIsADirectoryError(SandboxError, IsADirectoryError):
    """EISDIR."""


class SandboxNotADirectoryError(SandboxError, NotADirectoryError):
    """ENOTDIR."""


class SandboxPermissionError(SandboxError, PermissionError):
    """EACCES, EPERM, EROFS."""


class SandboxFullError(SandboxError, OSError):
    """ENOSPC: the sandbox's files take all the bytes that they may."""


class SandboxBrokenPipeError(SandboxError, BrokenPipeError):
    """EPIPE: nobody reads what is written."""


class SandboxValueError(SandboxError, ValueError):
    """EINVAL."""


_CLASSES: dict[str, type[SandboxError]] = {
    "ENOENT": SandboxFileNotFoundError,
    "EEXIST": SandboxFileExistsError,
    "EISDIR": SandboxIsADirectoryError,
    "ENOTDIR": SandboxNotADirectoryError,
    "EACCES": SandboxPermissionError,
    "EPERM": SandboxPermissionError,
    "EROFS": SandboxPermissionError,
    "ENOSPC": SandboxFullError,
    "EINVAL": SandboxValueError,
    "EPIPE": SandboxBrokenPipeError,
    "ECANCELED": CancelledError,
}

_SANDBOX_CODE = 1
_INVALID_PARAMS = -32602
_ENDED = ("SESSION_NOT_FOUND", "SANDBOX_NOT_FOUND")
_ENDED_IN_WORDS = ("ENOENT: there is no session '", "ENOENT: there is no sandbox '")


def message_of(error: BaseException) -> str:
    """What an error of somebody's says, also one that cannot say it."""
    try:
        return str(error)
    except Exception:
        return "<its message could not be made>"


def error_of_name(name: str, about: str) -> SandboxError:
    """The exception for an error of the system by its name."""
    return _CLASSES.get(name, SandboxError)(f"{name}: {about}", name)


def error_of(code: int, message: str, data: Any = None) -> SandboxError:
    """The exception for an error of the wire."""
    if code == _INVALID_PARAMS:
        return SandboxArgumentError(message)
    if code != _SANDBOX_CODE:
        return ServerError(message)
    found = re.match(r"(E[A-Z0-9]+):", message)
    name = found[1] if found else None
    error = _CLASSES.get(name or "", SandboxError)(message, name)
    reason = data.get("code") if isinstance(data, dict) else None
    error.reason = reason if isinstance(reason, str) else None
    return error


def has_ended(error: BaseException) -> bool:
    """Whether it says that the sandbox itself is not there any more."""
    if not isinstance(error, SandboxError):
        return False
    # Servers of the first release say it in words alone.
    return error.reason in _ENDED if error.reason else error.message.startswith(_ENDED_IN_WORDS)
