# SPDX-License-Identifier: Apache-2.0
"""A pool and its sandboxes for asyncio: the same, awaited. What waits does so in threads of the pool's own."""
from __future__ import annotations

import asyncio
import os
import time
import weakref
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any, Callable, List, Mapping, Optional, Protocol, Tuple, TypeVar

from .. import _server
from .._callbacks import CallbackSet
from .._errors import ServerError
from .._host_commands import HostCommands
from ..aio._link import AsyncLink
from ..aio.sandbox import Sandbox
from .address import Address
from .cell import Cell, Held, cell_at
from .sandbox import let_go

T = TypeVar("T")


class Placing(Protocol):
    """The pool that this is the awaited side of."""

    def place(self, timeout: float, node: Optional[str], metadata: Optional[Mapping[str, Any]],
              options: Mapping[str, Any]) -> Tuple[Cell, str]:
        """A new session, and its cell. Waits."""
        ...


class _Link(AsyncLink):
    """Calls connect where that is needed, which a loop must not wait for."""

    async def submit_async(self, method: str, params: "dict[str, Any]",
                           on_output: Optional[_server.OutputHandler] = None,
                           on_question: Optional[_server.QuestionHandler] = None,
                           command: Optional[_server.CommandListener] = None) -> _server.Request:
        return await _in_thread(_CALLERS, partial(self.submit, method, params, on_output, on_question, command),
                                lambda request: request.cancel())


class AsyncPoolSandbox(Sandbox):
    """A sandbox on some node of a pool: a `cloche.aio.Sandbox`, and otherwise as a `PoolSandbox`. It can be pickled."""

    _finalizer: "weakref.finalize[Any, Any]"

    def __init__(self, cell: Cell, session_id: str, shared: bool) -> None:
        """For pools."""
        self._cell = cell
        self._held: Held = cell.hold(session_id, shared)
        link = _Link(cell, "r-" + session_id)
        self._attach(link)
        self._finalizer.detach()
        self._finalizer = weakref.finalize(self, let_go, link, cell, self._held)

    async def _start(self) -> None:
        """It is there."""

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
        return self._there().open and self._cell.is_running and self._held.loss is None

    async def fork(self) -> "AsyncPoolSandbox":
        """An independent sandbox of the same node that goes on from here; see `fork_many` for several."""
        return (await self.fork_many(1))[0]

    async def fork_many(self, count: int, *, timeout: float = 60.0) -> "List[AsyncPoolSandbox]":
        """So many of them, which are made by one request: all, or none. They have the commands of this one.

        Raises:
            PoolFull: the node had no room in that time. Nothing was made.
            SandboxLost: the sandbox is lost.
        """
        if count < 0:
            raise ValueError("count is 0 at least")
        link = self._there()
        if not link.open:
            raise ServerError("the sandbox has ended: kill() was called")
        twins = await _in_thread(_MAKERS, partial(self._fork, count, timeout), _let_all_go)
        answerer = self._cell.answerer_of(link.sandbox_id)
        if answerer is not None:
            for twin in twins:
                await twin._there().ask("commands.set", {"commands": answerer.descriptions})
                self._cell.serve_commands(twin.id, answerer)
        return twins

    def _fork(self, count: int, timeout: float) -> "List[AsyncPoolSandbox]":
        return [AsyncPoolSandbox(self._cell, session, False) for session in self._cell.fork(self._held, count, timeout)]

    async def kill(self) -> None:
        """Ends the sandbox and all that runs in it, whoever has it. A second time does nothing."""
        link = self._there()
        if not link.open:
            return
        link.open = False
        self._finalizer.detach()
        await _in_thread(_CALLERS, partial(self._cell.kill, self._held))

    close = kill

    async def __aenter__(self) -> "AsyncPoolSandbox":
        return self

    def __reduce__(self) -> Tuple[Any, ...]:
        self._held.shared = True
        return _there, (self._cell.address, self._cell.token, self._cell.lease_s, self.session_id)

    def __repr__(self) -> str:
        return f"<AsyncPoolSandbox {self.session_id} of node {self.node_id}, {'ready' if self.is_alive else 'ended'}>"


class AsyncPool:
    """A pool, awaited. Of any loop; each call belongs to the one that it is awaited in."""

    def __init__(self, pool: Placing) -> None:
        """For pools: `pool.aio`."""
        self._pool = pool

    async def create(self, *, timeout: float = 60.0, commands: Optional[CallbackSet] = None, node: Optional[str] = None,
                     metadata: Optional[Mapping[str, Any]] = None, **options: Any) -> AsyncPoolSandbox:
        """A new sandbox; see `SandboxPool.create`, which says what `options` there are. Coroutine functions of
        `commands` run in this loop. Where the task is cancelled meanwhile there is none afterwards."""
        if commands is not None:
            HostCommands(commands)  # what cannot be served is told before anything is made
        deadline = time.monotonic() + timeout

        def make() -> AsyncPoolSandbox:
            left_s = max(0.0, deadline - time.monotonic())
            return AsyncPoolSandbox(*self._pool.place(left_s, node, metadata, options), False)

        sandbox = await _in_thread(_MAKERS, make, lambda made: _let_all_go([made]))
        if commands is not None:
            try:
                await sandbox.commands.serve(commands)
            except BaseException:
                await asyncio.shield(sandbox.kill())
                raise
        return sandbox

    async def fork(self, sandbox: AsyncPoolSandbox, count: int, *, timeout: float = 60.0) -> List[AsyncPoolSandbox]:
        """So many independent sandboxes of the same node that go on from that one; see `AsyncPoolSandbox.fork_many`."""
        return await sandbox.fork_many(count, timeout=timeout)

    def __repr__(self) -> str:
        return f"<AsyncPool of {self._pool!r}>"


def _let_all_go(sandboxes: List[AsyncPoolSandbox]) -> None:
    """Made for somebody who does not want them any more."""
    for sandbox in sandboxes:
        sandbox._finalizer()


class _Threads:
    """Not the loop's own, which others wait for; made when they are needed, and of this process alone."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._executor: Optional[ThreadPoolExecutor] = None
        os.register_at_fork(after_in_child=self._forget)

    def _forget(self) -> None:
        self._executor = None

    def submit(self, work: Callable[[], T]) -> "Future[T]":
        if self._executor is None:
            self._executor = ThreadPoolExecutor(self._count, "cloche pool")
        return self._executor.submit(work)


_MAKERS = _Threads(32)
"""What is made may wait for room; calls do not wait for that."""
_CALLERS = _Threads(8)


async def _in_thread(threads: _Threads, work: Callable[[], T], undo: Optional[Callable[[T], object]] = None) -> T:
    """Where nobody waits for it any more what has come of it is undone."""
    future = threads.submit(work)
    try:
        return await asyncio.shield(asyncio.wrap_future(future))
    except asyncio.CancelledError:
        if undo is not None and not future.cancel():
            take_back = undo
            future.add_done_callback(lambda done: done.exception() or take_back(done.result()))
        raise


def _there(address: Address, token: str, lease_s: int, session_id: str) -> AsyncPoolSandbox:
    """One that was pickled. Connects when it is used."""
    return AsyncPoolSandbox(cell_at(Address(*address), token, lease_s), session_id, True)
