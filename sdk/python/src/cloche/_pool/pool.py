# SPDX-License-Identifier: Apache-2.0
"""Sandboxes on the roomiest of many nodes."""
from __future__ import annotations

import random
import threading
import time
from typing import Any, Dict, Iterable, List, Mapping, Optional, Protocol, Tuple, Union

from .. import _operations as operations
from .._callbacks import CallbackSet
from .._errors import ConnectionLostError, PoolFull, SandboxLost, ServerError
from .._host_commands import HostCommands
from .._types import Mount
from . import placement
from .address import Address
from .awaited import AsyncPool
from .cell import Cell, cell_at
from .sandbox import PoolSandbox

_LONGEST_PAUSE_SECONDS = 1.0
HERE = "here"
"""As a node: that of the process that asks."""


def check(lease_s: int, starts: int) -> None:
    """Of a pool's options those that are numbers of its own. Raises ValueError."""
    if not 60 <= lease_s <= 28_800:
        raise ValueError("lease_s is 60 to 28800 seconds")
    if starts < 1:
        raise ValueError("starts is 1 at least")


class Directory(Protocol):
    """Who knows the cells."""

    def cells(self) -> Mapping[str, Address]:
        """Those that there are now, by their nodes. Does not wait for them."""
        ...

    def wait(self, seconds: float) -> None:
        """Until there may be others, or for that time."""
        ...

    def here(self) -> str:
        """The node of this process."""
        ...


class Pool:
    """Makes sandboxes. Thread-safe."""

    def __init__(self, directory: Directory, token: str, lease_s: int, starts: int) -> None:
        check(lease_s, starts)
        self._directory, self._token, self._lease_s, self._starts = directory, token, lease_s, starts
        self._gate = threading.BoundedSemaphore(starts)
        self._random = random.Random()
        self._closed = False

    def create(self, *, node: Optional[str] = None, timeout: float = 60.0,
               timeout_ms: Optional[operations.Amount] = None, fs_limit_bytes: Optional[operations.Amount] = None,
               packages: Iterable[str] = (), env: Optional[Mapping[str, str]] = None,
               mounts: Iterable[Union[Mount, Tuple[Any, ...]]] = (), network: Any = None,
               image: Optional[operations.StrPath] = None, wasm_dir: Optional[operations.StrPath] = None,
               limits: Optional[Mapping[str, operations.Amount]] = None, engine: Optional[str] = None,
               isolation: Optional[str] = None, user: Optional[str] = None, metadata: Optional[Mapping[str, Any]] = None,
               commands: Optional[CallbackSet] = None) -> PoolSandbox:
        """A new sandbox.

        Args:
            node: the id of the node that it is to be on, or "here" for the one of this process. Otherwise it is
                the roomiest of three that are drawn, and where those refuse another one.
            timeout: seconds to wait for room, and for one of the starts that this process may have on their
                way. 0: who has none says so at once.

        The others are those of `cloche.Sandbox`; what is absent is as the pool's cells have it. Files that they
        name are of the node, and wait for its operator's permission (`serve` of the pool).

        Raises:
            PoolFull: there was no room in that time. Nothing was made.
            SandboxLost: no cell answered in that time.
        """
        if commands is not None:
            HostCommands(commands)  # what cannot be served is told before anything is made
        options = {"timeout_ms": timeout_ms, "fs_limit_bytes": fs_limit_bytes, "packages": packages, "env": env, "mounts": mounts,
                   "network": network, "image": image, "wasm_dir": wasm_dir, "limits": limits, "engine": engine,
                   "isolation": isolation, "user": user}
        cell, session = self.place(timeout, node, metadata, options)
        sandbox = PoolSandbox(cell, session, False)
        if commands is not None:
            try:
                sandbox.commands.serve(commands)
            except BaseException:
                sandbox.kill()
                raise
        return sandbox

    def fork(self, sandbox: PoolSandbox, count: int, *, timeout: float = 60.0) -> List[PoolSandbox]:
        """So many independent sandboxes of the same node that go on from that one, with its files, shell and live
        Python: all, or none.

        Raises:
            PoolFull: the node had no room in that time. Nothing was made.
            SandboxLost: the sandbox is lost.
        """
        return sandbox.fork_many(count, timeout=timeout)

    @property
    def aio(self) -> AsyncPool:
        """The same for asyncio: `await pool.aio.create()`."""
        return AsyncPool(self)

    def place(self, timeout: float, node: Optional[str], metadata: Optional[Mapping[str, Any]],
              options: Mapping[str, Any]) -> Tuple[Cell, str]:
        """A new session as of `create`, and its cell."""
        deadline = time.monotonic() + timeout
        wish = _wish(**options)
        return self._place(node, wish, dict(metadata or {}), deadline, timeout)

    def _place(self, node: Optional[str], wish: Dict[str, Any], metadata: Dict[str, Any], deadline: float,
               timeout: float) -> Tuple[Cell, str]:
        pause_s = 0.05
        while True:
            full: Optional[PoolFull] = None
            problem: Optional[ServerError] = None
            if self._closed:
                raise ServerError("the pool was closed")
            if not self._gate.acquire(timeout=max(0.0, deadline - time.monotonic())):
                raise PoolFull(f"{self._starts} sandboxes are being started by this process, and none of them was ready in {timeout:g} s")
            try:
                cells = self._cells(node)
                for at in placement.order([cell.room for cell in cells], self._random):
                    try:
                        return cells[at], cells[at].create(wish, metadata, deadline - time.monotonic())
                    except PoolFull as error:
                        full = error
                    except ServerError as error:
                        problem = error
            finally:
                self._gate.release()
            left_s = deadline - time.monotonic()
            if problem is not None and full is None and not isinstance(problem, ConnectionLostError):
                raise problem  # all say that they cannot
            if left_s <= 0:
                if full is not None:
                    raise PoolFull(f"no node had room in {timeout:g} s: {full}") from full
                where = f"no cell on node {node}" if node is not None else "no cell of the pool"
                raise SandboxLost(f"{where} has answered in {timeout:g} s{f': {problem}' if problem else ''}",
                                  node_id=node) from problem
            if full is None:
                self._directory.wait(min(pause_s, left_s))
            else:
                time.sleep(min(pause_s, left_s))
            pause_s = min(_LONGEST_PAUSE_SECONDS, 2 * pause_s)

    def _cells(self, node: Optional[str]) -> List[Cell]:
        wanted = self._directory.here() if node == HERE else node
        there = self._directory.cells()
        cells = [cell_at(address, self._token, self._lease_s) for name, address in there.items()
                 if wanted is None or name == wanted]
        return [cell for cell in cells if cell.is_running]


def _wish(*, timeout_ms: Optional[operations.Amount] = None, fs_limit_bytes: Optional[operations.Amount] = None,
          packages: Iterable[str] = (), env: Optional[Mapping[str, str]] = None,
          mounts: Iterable[Union[Mount, Tuple[Any, ...]]] = (), network: Any = None, image: Optional[operations.StrPath] = None,
          wasm_dir: Optional[operations.StrPath] = None, limits: Optional[Mapping[str, operations.Amount]] = None,
          engine: Optional[str] = None, isolation: Optional[str] = None, user: Optional[str] = None) -> Dict[str, Any]:
    """What is asked of a cell: of what is absent it has its own."""
    wish = operations.create_params(0, 0, packages, env, mounts, network, image, wasm_dir, limits, engine, user,
                                    isolation)
    del wish["progress"]
    for name, value in (("timeoutMs", timeout_ms), ("fsLimitBytes", fs_limit_bytes)):
        wish[name] = value
        if value is None:
            del wish[name]
    return wish
