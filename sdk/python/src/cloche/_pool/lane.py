# SPDX-License-Identifier: Apache-2.0
"""One connection of this process to a cell."""
from __future__ import annotations

from typing import Protocol, Sequence

from .. import _servers
from .._errors import ServerError
from .._remote import GONE, RemoteServer

SANDBOXES = 200
"""That many are had by one: a server lets a connection have 256."""


class Losses(Protocol):
    """Who is told of what a connection finds to be lost."""

    def lose(self, why: str) -> None:
        """The cell."""
        ...

    def lose_sandbox(self, name: str, why: str) -> None:
        """One of its sandboxes."""
        ...

    def connected_again(self, names: Sequence[str]) -> None:
        """These sandboxes have another connection."""
        ...


class Lane(RemoteServer):
    """As a connection to any server, but that a cell which does not answer is lost for good."""

    _pauses = (0.0, 0.2, 0.5, 1.0)
    _connect_seconds = 5.0

    def __init__(self, url: str, token: str, losses: Losses) -> None:
        self._losses = losses
        self.count = 0
        super().__init__(url, token)
        _servers.adopt(self)

    def _connect(self) -> None:
        try:
            super()._connect()
        except ServerError as error:
            if isinstance(error.__cause__, ConnectionRefusedError):
                self._losses.lose(str(error))  # nobody else ever listens there
            raise
        if self._ended is not None:
            self.end(self._ended)
            raise ServerError(self._ended)
        with self._lock:
            if self._socket is None:
                return  # lost again: nothing is known
            gone = [name for name, there in self._ids.items() if there == GONE]
            names = list(self._ids)
        for name in gone:
            self._losses.lose_sandbox(name, "the sandbox has ended")
        self._losses.connected_again(names)

    def _ensure_connected(self) -> None:
        try:
            super()._ensure_connected()
        except ServerError as error:
            self._losses.lose(str(error))
            raise

    def end(self, why: str) -> None:
        """What waits for an answer is told why there is none; nothing more is sent."""
        self._ended = self._ended or why
        socket = self._socket
        if socket is not None:
            self._lose(socket, why)
