# SPDX-License-Identifier: Apache-2.0
"""A sandbox of a pool."""
from __future__ import annotations

import weakref
from typing import Any, List, Tuple

from .._errors import ServerError
from .._link import Link
from ..sandbox import Sandbox
from .address import Address
from .cell import Cell, Held, cell_at


def let_go(link: Link, cell: Cell, held: Held) -> None:
    """For a finalizer."""
    if link.open:
        link.open = False
        cell.let_go(held)


class PoolSandbox(Sandbox):
    """A sandbox on some node of a pool: a `cloche.Sandbox`, whose calls go straight to its node.

    It can be pickled: who gets it has the same sandbox. One that was never pickled ends when nobody here refers
    to it any more. One that was ends with `kill`, or when for the time of the pool's lease no process has had
    it.

    All of its calls raise `SandboxLost` where its node, its cell or the sandbox itself has ended, or where the
    answer of a call was lost. That says nothing about what ran in it, and it cannot be used on.
    """

    _finalizer: "weakref.finalize[Any, Any]"

    def __init__(self, cell: Cell, session_id: str, shared: bool) -> None:
        """For pools."""
        self._cell = cell
        self._held = cell.hold(session_id, shared)
        self._attach(Link(cell, "r-" + session_id))
        self._finalizer.detach()
        self._finalizer = weakref.finalize(self, let_go, self._link, cell, self._held)

    @property
    def session_id(self) -> str:
        """The session that it is, at its cell."""
        return self._held.session_id

    @property
    def node_id(self) -> str:
        """The node that it is on."""
        return self._cell.address.node_id

    @property
    def is_alive(self) -> bool:
        """Whether it can be used, as far as is known here: no call has been lost."""
        return self._link.open and self._cell.is_running and self._held.loss is None

    def fork(self) -> "PoolSandbox":
        """An independent sandbox of the same node that goes on from here; see `Pool.fork` for several."""
        return self.fork_many(1)[0]

    def fork_many(self, count: int, *, timeout: float = 60.0) -> "List[PoolSandbox]":
        """So many of them, which are made by one request: all, or none."""
        if count < 0:
            raise ValueError("count is 0 at least")
        if not self._link.open:
            raise ServerError("the sandbox has ended: kill() was called")
        twins = [PoolSandbox(self._cell, session, False) for session in self._cell.fork(self._held, count, timeout)]
        answerer = self._cell.answerer_of(self._link.sandbox_id)
        if answerer is not None:
            for twin in twins:
                twin._link.submit("commands.set", {"commands": answerer.descriptions}).result()
                self._cell.serve_commands(twin._link.sandbox_id, answerer)
        return twins

    def kill(self) -> None:
        """Ends the sandbox and all that runs in it, whoever has it. A second time does nothing."""
        if not self._link.open:
            return
        self._link.open = False
        self._finalizer.detach()
        self._cell.kill(self._held)

    close = kill

    def __enter__(self) -> "PoolSandbox":
        return self

    def __reduce__(self) -> Tuple[Any, ...]:
        self._held.shared = True
        return _there, (self._cell.address, self._cell.token, self._cell.lease_s, self.session_id)

    def __repr__(self) -> str:
        return f"<PoolSandbox {self.session_id} of node {self.node_id}, {'ready' if self.is_alive else 'ended'}>"


def _there(address: Address, token: str, lease_s: int, session_id: str) -> PoolSandbox:
    """One that was pickled. Connects when it is used."""
    return PoolSandbox(cell_at(Address(*address), token, lease_s), session_id, True)
