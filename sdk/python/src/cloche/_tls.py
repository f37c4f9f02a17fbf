# SPDX-License-Identifier: Apache-2.0
"""TLS to a server: one whose certificate is vouched for, or that of which the fingerprint is known."""
from __future__ import annotations

import hashlib
import hmac
import selectors
import socket
import ssl
import threading
from typing import Callable, Optional, TypeVar

_PIN = "sha256="
_Made = TypeVar("_Made")
_Selector = getattr(selectors, "PollSelector", selectors.SelectSelector)  # neither takes a descriptor


def secure(plain: socket.socket, host: str, fragment: str) -> ssl.SSLSocket:
    """The same connection with TLS. `fragment` is that of the server's URL: with `sha256=HEX` it is the server whose
    certificate that is the digest of, whoever else it says it is; without, one of that name.

    Raises:
        OSError: it is not.
    """
    if not fragment.startswith(_PIN):
        return ssl.create_default_context().wrap_socket(plain, server_hostname=host)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    secured = context.wrap_socket(plain, server_hostname=host)
    certificate = secured.getpeercert(binary_form=True) or b""
    if not hmac.compare_digest(hashlib.sha256(certificate).hexdigest(), fragment[len(_PIN):].lower()):
        secured.close()
        raise ssl.SSLCertVerificationError("the server has another certificate than the one whose fingerprint is known")
    return secured


class SharedSocket:
    """A connection with TLS for one thread that receives and others that send. OpenSSL's object is for one thread at a time, and
    Python before 3.13 lets two in: so it never waits within, and each step of it is under a lock.
    """

    def __init__(self, secured: ssl.SSLSocket) -> None:
        secured.setblocking(False)
        self._secured = secured
        self._lock = threading.Lock()
        self._timeout: Optional[float] = None

    def settimeout(self, seconds: Optional[float]) -> None:
        self._timeout = seconds

    def recv(self, size: int) -> bytes:
        return self._step(lambda: self._secured.recv(size))

    def sendall(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            piece = rest[:1 << 16]
            rest = rest[self._step(lambda: self._secured.send(piece)):]

    def shutdown(self, how: int) -> None:
        with self._lock:
            self._secured.shutdown(how)

    def close(self) -> None:
        with self._lock:
            self._secured.close()

    def _step(self, step: Callable[[], _Made]) -> _Made:
        while True:
            with self._lock:
                try:
                    return step()
                except ssl.SSLWantReadError:
                    wanted = selectors.EVENT_READ
                except ssl.SSLWantWriteError:
                    wanted = selectors.EVENT_WRITE
                waiting = _Selector()
                waiting.register(self._secured, wanted)
            with waiting:
                if not waiting.select(self._timeout):
                    raise socket.timeout("timed out")
