# SPDX-License-Identifier: Apache-2.0
"""A WebSocket (RFC 6455) as a client has it: text messages, pings, the end. Needs nothing but Python."""
from __future__ import annotations

import base64
import hashlib
import os
import socket
import struct
import threading
from typing import Any, Optional, Union
from urllib.parse import urlencode, urlsplit

from ._errors import SandboxArgumentError, ServerError
from ._tls import SharedSocket
from ._tls import secure as secure_socket

_GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
CONNECT_SECONDS = 30.0
_SILENCE_SECONDS = 60  # the server pings every 20
_HEAD_BYTES = 1 << 16
_TEXT, _CLOSE, _PING = 1, 8, 9
_PART = 1 << 16


class WebSocketEnded(OSError):
    """The other side has closed, or is gone; the message says why."""


def _no_url(url: Any) -> SandboxArgumentError:
    return SandboxArgumentError(f"url must be like https://box.example.com, and is {url!r}")


class WebSocket:
    """Connected when it is made. `send` is for any thread, `receive` for one."""

    def __init__(self, url: str, token: Optional[str], session: Optional[str] = None,
                 connect_seconds: float = CONNECT_SECONDS) -> None:
        """With a session it reaches the process that has that one, where a server has several."""
        try:
            parts = urlsplit(url)
            told_port = parts.port
        except (AttributeError, ValueError):  # no text, or no address
            raise _no_url(url) from None
        if parts.scheme not in ("http", "https", "ws", "wss") or not parts.hostname:
            raise _no_url(url)
        secure = parts.scheme in ("https", "wss")
        port = told_port or (443 if secure else 80)
        path = parts.path.rstrip("/")
        path += "" if path.endswith("/rpc") else "/rpc"
        query = urlencode({"session": session}) if session else parts.query
        path += f"?{query}" if query else ""
        try:
            plain = socket.create_connection((parts.hostname, port), timeout=connect_seconds)
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._socket: Union[socket.socket, SharedSocket] = plain
            if secure:
                self._socket = SharedSocket(secure_socket(plain, parts.hostname, parts.fragment))
                self._socket.settimeout(connect_seconds)
        except OSError as error:
            raise ServerError(f"no connection to {url}: {error.strerror or error}") from error
        self._lock = threading.Lock()
        self._rest = b""
        try:
            self._shake_hands(parts.netloc.rpartition("@")[2], path, token, url)
            self._socket.settimeout(_SILENCE_SECONDS)
        except BaseException as error:
            self._socket.close()
            if isinstance(error, OSError) and not isinstance(error, ServerError):
                raise ServerError(f"no connection to {url}: {error}") from error
            raise

    def _shake_hands(self, host: str, path: str, token: Optional[str], url: str) -> None:
        key = base64.b64encode(os.urandom(16)).decode()
        fields = [f"GET {path} HTTP/1.1", f"Host: {host}", "Upgrade: websocket", "Connection: Upgrade",
                  "Sec-WebSocket-Version: 13", f"Sec-WebSocket-Key: {key}",
                  "Sec-WebSocket-Protocol: cloche.rpc.v1"]
        if token is not None:
            if not isinstance(token, str) or not token.isprintable() or not token.isascii():
                raise SandboxArgumentError("a token has printable ASCII characters only")
            fields.append(f"Authorization: Bearer {token}")
        self._socket.sendall(("\r\n".join(fields) + "\r\n\r\n").encode("latin-1"))
        head = b""
        while b"\r\n\r\n" not in head:
            more = self._socket.recv(4096)
            if not more or len(head) > _HEAD_BYTES:
                raise ServerError(f"{url} is no Cloche server: it did not answer as one")
            head += more
        head, _, self._rest = head.partition(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        words = lines[0].split(None, 2)
        status = words[1] if len(words) > 1 else ""
        if status == "401":
            raise ServerError(f"{url} refuses the token" if token else f"{url} wants a token: give token=...")
        accept = base64.b64encode(hashlib.sha1((key + _GUID).encode()).digest()).decode()
        answered = {line.partition(":")[0].strip().lower(): line.partition(":")[2].strip() for line in lines[1:]}
        if status == "426":
            raise ServerError(f"{url} was not asked for a WebSocket: a proxy before it must pass Upgrade and Connection on")
        if status != "101" or answered.get("sec-websocket-accept") != accept:
            raise ServerError(f"{url} is no Cloche server, or refuses: {lines[0]}")

    def send(self, text: bytes) -> None:
        """Sends a text message."""
        self._send(_TEXT, text)

    def _send(self, opcode: int, data: bytes) -> None:
        size = len(data)
        if size < 126:
            head = struct.pack(">BB", 0x80 | opcode, 0x80 | size)
        elif size < 1 << 16:
            head = struct.pack(">BBH", 0x80 | opcode, 0x80 | 126, size)
        else:
            head = struct.pack(">BBQ", 0x80 | opcode, 0x80 | 127, size)
        mask = os.urandom(4)
        with self._lock:
            # The time that a write may take is for each part.
            message = head + mask + _masked(data, mask)
            for start in range(0, len(message), _PART):
                self._socket.sendall(message[start:start + _PART])

    def receive(self) -> bytes:
        """The next text message. Raises WebSocketEnded."""
        message = bytearray()
        while True:
            first, second = self._take(2)
            size = second & 0x7f
            if size == 126:
                size = struct.unpack(">H", self._take(2))[0]
            elif size == 127:
                size = struct.unpack(">Q", self._take(8))[0]
            data = self._take(size)
            opcode = first & 0xf
            if opcode == _CLOSE:
                reason = data[2:].decode("utf-8", "replace")
                raise WebSocketEnded(reason or "the server has closed the connection")
            if opcode == _PING:
                self._send(10, data)
            if opcode >= 8:
                continue
            message += data
            if first & 0x80:
                return bytes(message)

    def _take(self, size: int) -> bytes:
        if len(self._rest) >= size:
            taken, self._rest = self._rest[:size], self._rest[size:]
            return taken
        parts, have = [self._rest], len(self._rest)
        while have < size:
            try:
                more = self._socket.recv(min(max(size - have, 1 << 16), 1 << 20))
            except socket.timeout:
                raise WebSocketEnded(f"nothing was heard for {_SILENCE_SECONDS} s") from None
            if not more:
                raise WebSocketEnded("the connection has ended")
            parts.append(more)
            have += len(more)
        whole = b"".join(parts)
        self._rest = whole[size:]
        return whole[:size]

    def close(self) -> None:
        """Ends it, also under a `receive` in another thread."""
        try:
            self._send(_CLOSE, struct.pack(">H", 1000))
        except OSError:
            pass
        self.abort()

    def abort(self) -> None:
        """The same without a word to the server."""
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self._socket.close()


def _masked(data: bytes, mask: bytes) -> bytes:
    size = len(data)
    key = (mask * (size // 4 + 1))[:size]
    return (int.from_bytes(data, "little") ^ int.from_bytes(key, "little")).to_bytes(size, "little")
