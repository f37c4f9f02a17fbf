# SPDX-License-Identifier: Apache-2.0
"""TLS as an ordinary socket.

Python's TLS sockets must not be read and written by two threads at the same time, which is what an SSH
library does. So one thread has the TLS socket, and hands out one end of a pair.
"""
from __future__ import annotations

import select
import socket
import ssl
import threading

PIECE = 65536
BACKLOG = 1 << 20


class _Pump:
    def __init__(self, tls: ssl.SSLSocket, inside: socket.socket) -> None:
        self.tls, self.inside = tls, inside
        self.out, self.back = bytearray(), bytearray()  # to the server, to the user
        self.user_done = self.server_done = False
        tls.setblocking(False)
        inside.setblocking(False)

    def run(self) -> None:
        try:
            while not self.server_done or self.back:
                self._wait()
                self._from_server()
                self._to_user()
                self._from_user()
                self._to_server()
                if self.user_done and not self.out:
                    return  # the user has closed its end: SSH has no half of a connection
        except OSError:
            pass
        finally:
            self.tls.close()
            self.inside.close()

    def _wait(self) -> None:
        read = [] if len(self.back) > BACKLOG or self.server_done else [self.tls]
        if len(self.out) <= BACKLOG and not self.user_done:
            read.append(self.inside)
        write = ([self.inside] if self.back else []) + ([self.tls] if self.out else [])
        select.select(read, write, [], 0 if read and self.tls.pending() else None)

    def _from_server(self) -> None:
        while len(self.back) <= BACKLOG and not self.server_done:
            try:
                piece = self.tls.recv(PIECE)
            except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
                return
            self.server_done = not piece
            self.back += piece

    def _to_user(self) -> None:
        try:
            while self.back:
                del self.back[:self.inside.send(self.back[:PIECE])]
        except BlockingIOError:
            pass

    def _from_user(self) -> None:
        try:
            while len(self.out) <= BACKLOG and not self.user_done:
                piece = self.inside.recv(PIECE)
                self.user_done = not piece
                self.out += piece
        except BlockingIOError:
            pass

    def _to_server(self) -> None:
        try:
            while self.out:
                del self.out[:self.tls.send(self.out[:PIECE])]
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            pass


def plain_end(tls: ssl.SSLSocket) -> socket.socket:
    """A socket whose bytes go through `tls`, which belongs to a thread of its own from now on."""
    mine, theirs = socket.socketpair()
    threading.Thread(target=_Pump(tls, mine).run, name="sandbox-tunnel", daemon=True).start()
    return theirs
