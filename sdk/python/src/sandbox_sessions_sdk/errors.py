# SPDX-License-Identifier: Apache-2.0
"""What can go wrong. An error is also what the library below would have raised, so that code written for
sockets or paramiko catches it too."""
from __future__ import annotations

from typing import Any, Optional, Type, TypeVar


class SandboxAPIError(Exception):
    """The base of them all.

    `status_code` is the HTTP status, `code` the server's word for it (SESSION_NOT_FOUND), `details` the
    whole body; each is None where there is none.
    """

    def __init__(self, message: str, *, status_code: Optional[int] = None,
                 code: Optional[str] = None, details: Any = None) -> None:
        super().__init__(message)
        self.message = message
        self.status_code = status_code
        self.code = code
        self.details = details

    def __str__(self) -> str:
        return self.message


class SandboxConnectionError(SandboxAPIError, ConnectionError):
    """The server cannot be reached, the connection broke, or the server refuses a tunnel."""


class UnauthorizedError(SandboxAPIError):
    """401: the token is missing or unknown."""


class SessionNotFoundError(SandboxAPIError):
    """404: there is no such session, or it belongs to another token."""


class RateLimitError(SandboxAPIError):
    """429: too many requests or sessions. Each of the three is an int, or None where the server did not
    say it; `reset` is in seconds since 1970."""

    def __init__(self, message: str, *, limit: Optional[int] = None,
                 remaining: Optional[int] = None, reset: Optional[int] = None,
                 **more: Any) -> None:
        super().__init__(message, **more)
        self.limit = limit
        self.remaining = remaining
        self.reset = reset


class SandboxOperationError(SandboxAPIError):
    """Another refusal of the server, a failure of SSH or SFTP, or a call before connect()."""


E = TypeVar("E", bound=SandboxAPIError)


def also(error: Type[E], cause: BaseException) -> Type[E]:
    """The class of errors that are `error` and what `cause` is."""
    kind = type(cause)
    if issubclass(error, kind):
        return error
    try:
        return type(error.__name__, (error, kind), {"__module__": error.__module__,
                                                    "__doc__": error.__doc__})
    except TypeError:  # the two do not fit together
        return error


def wrap(error: Type[E], message: str, cause: BaseException) -> E:
    """An `error` about `cause`, which is also of the cause's kind."""
    text = f"{message}: {cause}" if str(cause) else f"{message}: {type(cause).__name__}"
    try:
        made = also(error, cause)(text)
    except TypeError:
        made = error(text)
    if isinstance(cause, OSError) and isinstance(made, OSError):
        made.errno, made.strerror = cause.errno, cause.strerror
    return made


def as_connection_error(error: SandboxAPIError, line: str) -> SandboxConnectionError:
    """The same refusal where a connection was wanted: a SandboxConnectionError too, `line` before what it
    says."""
    kind = type(SandboxConnectionError.__name__, (SandboxConnectionError, type(error)),
                {"__module__": __name__, "__doc__": SandboxConnectionError.__doc__})
    message = f"{line}: {error.message}"
    made: SandboxConnectionError = kind(message)
    made.__dict__.update(error.__dict__)
    made.message = message
    return made


def _number(text: Optional[str]) -> Optional[int]:
    try:
        return int(text) if text is not None else None
    except ValueError:
        return None


def from_response(status: int, body: Any, headers: Any, text: str = "") -> SandboxAPIError:
    """The error for an answer that is no success. `body` is what its JSON says, or None."""
    said = body if isinstance(body, dict) else {}
    message = said.get("message") or text.strip()[:300] or f"the server answered {status}"
    facts = {"status_code": status, "code": said.get("error"), "details": body}
    if status == 401:
        return UnauthorizedError(message, **facts)
    if status == 404:
        return SessionNotFoundError(message, **facts)
    if status == 429:
        return RateLimitError(message, limit=_number(headers.get("X-RateLimit-Limit")),
                              remaining=_number(headers.get("X-RateLimit-Remaining")),
                              reset=_number(headers.get("X-RateLimit-Reset")), **facts)
    return SandboxOperationError(message, **facts)
