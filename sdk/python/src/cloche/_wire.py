# SPDX-License-Identifier: Apache-2.0
"""What goes over the wire, as text and bytes."""
from __future__ import annotations

import base64
import json
from typing import Any

from ._errors import SandboxArgumentError
from ._hints import plain

LINE_LIMIT = 384 << 20
"""Bytes of a message; a server takes no longer ones."""


def to_base64(data: bytes) -> str:
    """Bytes as the wire has them."""
    return base64.b64encode(data).decode("ascii")


def from_base64(text: str) -> bytes:
    """Bytes from the wire."""
    return base64.b64decode(text)


def request_line(number: int, method: str, params: dict[str, Any]) -> bytes:
    """A request, with its end. Raises SandboxArgumentError, which names the parameter, for what JSON has not."""
    try:
        return line_of({"jsonrpc": "2.0", "id": number, "method": method, "params": params}, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        if isinstance(error, SandboxArgumentError):
            raise
        raise SandboxArgumentError(_problem(params) or str(error)) from error


def _problem(params: dict[str, Any]) -> str:
    for name, value in params.items():
        try:
            line_of({name: value}, allow_nan=False)
        except UnicodeError:
            return f"'{name}' holds lone surrogates, which are no text"
        except (TypeError, ValueError, RecursionError) as error:
            return f"'{name}': {error}"
    return ""


def line_of(message: dict[str, Any], allow_nan: bool = True) -> bytes:
    """A message, with its end. Raises SandboxArgumentError for one that is too long."""
    # Lone surrogates are no text that the other side could take.
    line = json.dumps(message, ensure_ascii=False, separators=(",", ":"), allow_nan=allow_nan,
                      default=plain).encode("utf-8") + b"\n"
    if len(line) > LINE_LIMIT:
        raise SandboxArgumentError(f"a message has {len(line)} bytes, and {LINE_LIMIT} are the most: send it in parts")
    return line
