# SPDX-License-Identifier: Apache-2.0
"""A raw connection to a session's SSH, through the HTTP server's port."""
from __future__ import annotations

import json
import socket
import ssl
from types import TracebackType
from typing import Any, Dict, Mapping, Optional, Tuple, Type
from urllib.parse import quote

from . import settings
from .errors import (SandboxConnectionError, SandboxOperationError, as_connection_error, from_response,
                     wrap)
from .pump import plain_end

HEAD_MAX_BYTES = 64 << 10


def request_head(api_url: str, token: str, session_id: str, template: str,
                 extra_headers: Optional[Mapping[str, str]]) -> bytes:
    """The CONNECT request as it goes out."""
    parts = settings.split(api_url)
    path = parts.path.rstrip("/") + template.replace("{sessionId}",
                                                      quote(settings.check_id(session_id), safe=""))
    host = parts.hostname or ""
    lines = [f"CONNECT {path} HTTP/1.1", f"Host: {f'[{host}]' if ':' in host else host}"]
    if token:
        lines.append(f"Proxy-Authorization: Bearer {token}")
        lines.append(f"Authorization: Bearer {token}")
    lines += [f"{name}: {value}" for name, value in (extra_headers or {}).items()]
    text = "\r\n".join(lines) + "\r\n\r\n"
    if any(c in line for line in lines for c in "\r\n"):
        raise ValueError("a header, the token or the session's id has a line break")
    return text.encode("latin-1")


def parse_head(head: bytes) -> Tuple[int, str, Dict[str, str]]:
    """The status, the status line and the headers of the answer's head."""
    lines = head.decode("latin-1").split("\r\n")
    words = lines[0].split(" ", 2)
    if len(words) < 2 or not words[0].startswith("HTTP/") or not words[1].isdigit():
        raise SandboxOperationError("the server's answer to CONNECT is no HTTP")
    headers = {}
    for line in lines[1:]:
        name, colon, value = line.partition(":")
        if colon:
            headers[name.strip().title().replace("Ratelimit", "RateLimit")] = value.strip()
    return int(words[1]), lines[0], headers


def refusal(status: int, line: str, headers: Dict[str, str], body: bytes) -> SandboxConnectionError:
    """The error for a CONNECT that was refused: it says the status line, and is also what that status is
    elsewhere (UnauthorizedError, SessionNotFoundError, RateLimitError, SandboxOperationError)."""
    text = body.decode("utf-8", "replace")
    try:
        parsed: Any = json.loads(text)
    except ValueError:
        parsed = None
    return as_connection_error(from_response(status, parsed, headers, text), line)


def tls_context(verify_ssl: bool) -> ssl.SSLContext:
    context = ssl.create_default_context()
    if not verify_ssl:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


class HTTPConnectTunnel:
    """open() gives a connected socket; close() or `with` ends it."""

    def __init__(self, api_url: Optional[str], bearer_token: Optional[str], session_id: str,
                 connect_path_template: str = "/sessions/{sessionId}", timeout: float = 10,
                 verify_ssl: bool = True,
                 extra_headers: Optional[Mapping[str, str]] = None) -> None:
        self.api_url: str
        self.bearer_token: str
        self.api_url, self.bearer_token = settings.resolve(api_url, bearer_token)
        self.session_id = session_id
        self.connect_path_template = connect_path_template
        self.timeout = timeout
        self.verify_ssl = verify_ssl
        self.extra_headers = extra_headers
        self._socket: Optional[socket.socket] = None

    def __enter__(self) -> "HTTPConnectTunnel":
        self.open()
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.close()

    def open(self) -> socket.socket:
        """Connects. The socket blocks; what follows the answer's head is left in it. A server that
        refuses, as for a session that it does not know, is a SandboxConnectionError with its status line."""
        if self._socket is not None:
            raise SandboxOperationError("the tunnel is open already")
        head = request_head(self.api_url, self.bearer_token, self.session_id,
                            self.connect_path_template, self.extra_headers)
        parts = settings.split(self.api_url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
        try:
            made = socket.create_connection((parts.hostname, port), timeout=self.timeout)
        except OSError as error:
            raise wrap(SandboxConnectionError, f"cannot reach {self.api_url}", error) from error
        try:
            made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if parts.scheme == "https":
                made = tls_context(self.verify_ssl).wrap_socket(made,
                                                                server_hostname=parts.hostname)
            made.sendall(head)
            status, line, headers = parse_head(self._read_head(made))
            if status != 200:
                raise refusal(status, line, headers, self._read_body(made, headers))
            made.settimeout(None)
            if isinstance(made, ssl.SSLSocket):
                made = plain_end(made)
        except SandboxConnectionError:
            made.close()
            raise
        except OSError as error:
            made.close()
            raise wrap(SandboxConnectionError, "the tunnel broke", error) from error
        except BaseException:
            made.close()
            raise
        self._socket = made
        return made

    def close(self) -> None:
        made, self._socket = self._socket, None
        if made is not None:
            made.close()

    @staticmethod
    def _read_head(made: socket.socket) -> bytes:
        # Byte by byte: what follows the head is SSH's.
        head = bytearray()
        while not head.endswith(b"\r\n\r\n"):
            byte = made.recv(1)
            if not byte:
                raise ConnectionResetError("the server closed the connection")
            head += byte
            if len(head) > HEAD_MAX_BYTES:
                raise SandboxOperationError("the answer to CONNECT has no end")
        return bytes(head[:-4])

    @staticmethod
    def _read_body(made: socket.socket, headers: Dict[str, str]) -> bytes:
        length = headers.get("Content-Length", "")
        wanted = min(int(length), HEAD_MAX_BYTES) if length.isdigit() else HEAD_MAX_BYTES
        body = b""
        try:
            while len(body) < wanted:
                piece = made.recv(wanted - len(body))
                if not piece:
                    break
                body += piece
        except OSError:
            pass
        return body
