# SPDX-License-Identifier: Apache-2.0
"""What a cell is asked by HTTP: for a session, which an `Idempotency-Key` makes once, and how much room it has."""
from __future__ import annotations

import http.client
import json
import re
import secrets
import socket
import threading
import time
from typing import Any, Dict, List, NamedTuple
from urllib.parse import urlsplit

from .._errors import (ConnectionLostError, PoolFull, SandboxArgumentError, SandboxPermissionError,
                       ServerError)
from .._tls import secure

_PAUSES = (0.0, 0.1, 0.5)
_LEAST_SECONDS = 5.0
_MOST_SECONDS = 30.0
_ROOM_SECONDS = 2.0
_ANSWER_BYTES = 16 << 20


class Room(NamedTuple):
    """Of a cell."""

    headroom: float
    """From 0 to 1."""
    sessions_limit: int

    def with_one_more(self) -> "Room":
        """Until that is told anew."""
        return Room(max(0.0, self.headroom - 1 / self.sessions_limit), self.sessions_limit)


UNKNOWN = Room(1.0, 1000)


class _Secured(http.client.HTTPConnection):
    """One to a server by TLS, as `_tls` has it."""

    def __init__(self, host: str, port: int, fragment: str) -> None:
        super().__init__(host, port)
        self._fragment = fragment

    def connect(self) -> None:
        super().connect()
        self.sock = secure(self.sock, self.host, self._fragment)


class Web:
    """Connections that are kept for the next request. Thread-safe."""

    def __init__(self, url: str, token: str) -> None:
        parts = urlsplit(url)
        self._is_secure, self._fragment = parts.scheme == "https", parts.fragment
        self._host, self._port = parts.hostname or "", parts.port or (443 if self._is_secure else 80)
        self._url, self._token = url.partition("#")[0], token
        self._lock = threading.Lock()
        self._idle: List[http.client.HTTPConnection] = []

    def create(self, body: Dict[str, Any], timeout_s: float) -> str:
        """The id of a new session; errors are those of `Cell.create`."""
        data = json.dumps(body).encode()
        key = secrets.token_hex(16)
        problem: Exception = ConnectionLostError(f"{self._url} does not answer")
        for pause in _PAUSES:
            time.sleep(pause)
            try:
                status, answer = self._ask("POST", "/sessions", data, {"Idempotency-Key": key}, min(max(timeout_s, _LEAST_SECONDS), _MOST_SECONDS))
            except (ConnectionRefusedError, socket.timeout) as error:
                problem = error
                break
            except (OSError, http.client.HTTPException) as error:
                problem = error
                continue
            return self._session_in(status, answer)
        raise ConnectionLostError(f"{self._url} does not answer: {problem}") from problem

    def _session_in(self, status: int, answer: bytes) -> str:
        try:
            told = json.loads(answer)
            if status == 200:
                return str(told["sessionId"])
            message = str(told.get("message", ""))
        except (ValueError, KeyError, AttributeError):
            message = answer[:200].decode("utf-8", "replace")
        if status in (429, 503):
            raise PoolFull(message)
        if status == 400:
            raise SandboxArgumentError(message)
        if status == 403:
            raise SandboxPermissionError(message, "EACCES")
        if status == 401:
            raise ServerError(f"{self._url} refuses the token of the pool", "EACCES")
        raise ServerError(f"{self._url} answers {status}: {message}")

    def room(self, otherwise: "Room") -> "Room":
        """How much there is, or what it was where that is not told."""
        try:
            status, answer = self._ask("GET", "/metrics", None, {}, _ROOM_SECONDS)
            headroom, limit = (re.search(rb"^" + name + rb" (\S+)$", answer, re.MULTILINE)
                               for name in (b"cloche_headroom", b"cloche_sessions_limit"))
            if status != 200 or headroom is None or limit is None:
                return otherwise
            return Room(float(headroom[1]), max(1, int(float(limit[1]))))
        except (OSError, ValueError, http.client.HTTPException):
            return otherwise

    def is_ready(self) -> bool:
        """Whether it says that it is, and goes on."""
        try:
            return self._ask("GET", "/ready", None, {}, _LEAST_SECONDS)[0] == 200
        except (OSError, http.client.HTTPException):
            return False

    def _ask(self, method: str, path: str, body: "bytes | None", fields: Dict[str, str], timeout_s: float) -> "tuple[int, bytes]":
        with self._lock:
            connection = self._idle.pop() if self._idle else self._connection()
        try:
            connection.timeout = timeout_s
            if connection.sock is not None:
                connection.sock.settimeout(timeout_s)
            connection.request(method, path, body, {"Authorization": f"Bearer {self._token}",
                                                    "Content-Type": "application/json", **fields})
            answer = connection.getresponse()
            content = answer.read(_ANSWER_BYTES)
        except BaseException:
            connection.close()
            raise
        with self._lock:
            self._idle.append(connection)
        return answer.status, content

    def _connection(self) -> http.client.HTTPConnection:
        if self._is_secure:
            return _Secured(self._host, self._port, self._fragment)
        return http.client.HTTPConnection(self._host, self._port)

    def close(self) -> None:
        """Ends the connections that are idle."""
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def after_fork(self) -> None:
        """In a forked child: those that there are stay the parent's."""
        self._lock = threading.Lock()
        self.close()
