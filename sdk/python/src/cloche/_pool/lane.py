# SPDX-License-Identifier: Apache-2.0
"""One connection of this process to a cell."""
from __future__ import annotations

from typing import TYPE_CHECKING

from .. import _servers
from .._errors import ServerError
from .._remote import GONE, RemoteServer

if TYPE_CHECKING:
    from .cell import Cell

SANDBOXES = 200
"""That many are had by one: a server lets a connection have 256."""


class Lane(RemoteServer):
    """As a connection to any server, but that a cell which does not answer is lost for good."""

    _pauses = (0.0, 0.2, 0.5, 1.0)
    _connect_seconds = 5.0

    def __init__(self, cell: "Cell", token: str) -> None:
        self._cell = cell
        self.count = 0
        super().__init__(cell.address.url, token)
        _servers.adopt(self)

    def _connect(self) -> None:
        try:
            super()._connect()
        except ServerError as error:
            if isinstance(error.__cause__, ConnectionRefusedError):
                self._cell.lose(str(error))  # nobody else ever listens there
            raise
        if self._ended is not None:
            self.end(self._ended)
            raise ServerError(self._ended)
        with self._lock:
            if self._socket is None:
                return  # lost again: nothing is known
            gone = [name for name, there in self._ids.items() if there == GONE]
        for name in gone:
            self._cell.lose_sandbox(name, "the sandbox has ended")

    def _ensure_connected(self) -> None:
        try:
            super()._ensure_connected()
        except ServerError as error:
            self._cell.lose(str(error))
            raise

    def end(self, why: str) -> None:
        """What waits for an answer is told why there is none; nothing more is sent."""
        self._ended = self._ended or why
        socket = self._socket
        if socket is not None:
            self._lose(socket, why)
