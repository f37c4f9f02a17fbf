# SPDX-License-Identifier: Apache-2.0
# pyright: reportAttributeAccessIssue=false
# Where Ray is not installed pyright takes this package for it.
"""What is shown of a pool."""
from __future__ import annotations

import secrets
import threading
import time
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from .._errors import SandboxLost
from .._pool.pool import Pool, check
from .nodes import NAMESPACE, CellActor, Nodes


class SandboxPool(Pool):
    """A cell on each node of the Ray cluster that this process is connected to, and sandboxes in them.

    It can be pickled: tasks and actors that get it make sandboxes by it. The process that has made it keeps it
    alive; when that ends in whatever way, all cells and sandboxes do.

    Args:
        sandboxes: that many in each cell at most.
        memory_bytes: a cell that has more makes no new sandbox; Ray is told that its actor takes as much.
        cpus: that Ray is told an actor takes.
        starts: that many sandboxes at a time are being made by one process; the others wait.
        lease_s: seconds, 60 at least: a sandbox ends when that long no process has had it.
        serve: further options of `cloche serve` for the cells, such as `["--allow-session-net", "*.example.com"]`.
        tls: whether processes speak TLS with cells. Each makes a certificate when it starts, and what the actor of
            its node says of it is what all others go by; that comes by Ray, which has a TLS of its own.
        nodes: which nodes have cells, asked of each with what `ray.nodes()` says of it; all of them when absent.
        ready_timeout: seconds to wait for the first cell.

    Raises:
        SandboxLost: there is no cell in that time.
    """

    def __init__(self, *, sandboxes: int = 1000, memory_bytes: Optional[int] = None, cpus: float = 0, starts: int = 16,
                 lease_s: int = 60, serve: Sequence[str] = (), tls: bool = False,
                 nodes: Optional[Callable[[Mapping[str, Any]], bool]] = None,
                 ready_timeout: float = 120.0) -> None:
        if isinstance(serve, str):
            raise TypeError("serve is a list of words")
        check(lease_s, starts)
        if not ray.is_initialized():
            ray.init()
        self._pool_id, token = secrets.token_hex(8), secrets.token_urlsafe(32)
        words = ["--max-sessions", str(sandboxes), *(["--memory-limit", str(memory_bytes)] if memory_bytes is not None else []),
                 *(["--tls-self-signed"] if tls else []), *serve]
        # Where its renewals do not come any more a cell ends within the time that a sandbox would.
        cell_lease_s = min(40.0, lease_s * 2 / 3)
        actor = ray.remote(CellActor)

        def make(node: Mapping[str, Any], name: str) -> Any:
            if nodes is not None and not nodes(node):
                return None
            return actor.options(name=name, namespace=NAMESPACE, num_cpus=cpus, memory=memory_bytes, max_restarts=-1,
                                 max_concurrency=4,
                                 scheduling_strategy=NodeAffinitySchedulingStrategy(node["NodeID"], soft=False),
                                 ).remote(token, cell_lease_s, words)

        self._nodes = Nodes(self._pool_id, make)
        super().__init__(self._nodes, token, lease_s, starts)
        _pools[self._pool_id] = self
        try:
            self.wait_for(1, timeout=ready_timeout)
        except BaseException:
            self.close()
            raise

    def nodes(self) -> List[str]:
        """The nodes that have a cell now, by their ids."""
        return sorted(self._nodes.cells())

    def wait_for(self, count: int, *, timeout: float = 120.0) -> List[str]:
        """Waits until so many nodes have a cell, and gives them. Raises SandboxLost after `timeout` seconds."""
        deadline = time.monotonic() + timeout
        while len(there := self.nodes()) < count:
            if (left_s := deadline - time.monotonic()) <= 0:
                raise SandboxLost(f"{len(there)} of {count} nodes have a cell after {timeout:g} s; {self._nodes.trouble()}")
            self._nodes.wait(min(1.0, left_s))
        return there

    def close(self) -> None:
        """Ends the pool where it was made: its cells, and all sandboxes in them. Elsewhere it lets go of it."""
        self._closed = True
        _pools.pop(self._pool_id, None)
        self._nodes.end()

    def __enter__(self) -> "SandboxPool":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> Tuple[Any, ...]:
        return _pool_here, (self._pool_id, self._token, self._lease_s, self._starts)

    def __repr__(self) -> str:
        return f"<SandboxPool {self._pool_id}, {len(self._nodes.cells())} cells>"


_pools_lock = threading.Lock()
_pools: Dict[str, SandboxPool] = {}


def _pool_here(pool_id: str, token: str, lease_s: int, starts: int) -> SandboxPool:
    """One that was pickled: one for a process."""
    with _pools_lock:
        if pool_id not in _pools:
            pool = object.__new__(SandboxPool)
            pool._pool_id, pool._nodes = pool_id, Nodes(pool_id, None)
            Pool.__init__(pool, pool._nodes, token, lease_s, starts)
            _pools[pool_id] = pool
        return _pools[pool_id]
