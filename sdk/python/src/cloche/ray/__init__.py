# SPDX-License-Identifier: Apache-2.0
"""Sandboxes on the nodes of a Ray cluster, for reinforcement learning: `pip install 'cloche[ray]'`.

    pool = SandboxPool()                            # a cell on each node

    @ray.remote
    def group(task):
        with pool.create(packages=["numpy"]) as base:
            base.python.execute(task.setup, check=True)
            rewards = []
            for sandbox, answer in zip(pool.fork(base, 8), task.answers):
                with sandbox:
                    try:
                        rewards.append(sandbox.python.execute(answer).exit_code == 0)
                    except SandboxLost:
                        rewards.append(None)        # nothing is known of it: ask again, or leave it out
            return rewards

Each node has one Ray actor, which owns one *cell*: a `cloche serve` with all of the pool's sandboxes of that node.
Calls go from any process of the cluster straight to the cell; Ray starts actors and tells of nodes that come and go.
`pool.aio` is the same for asyncio: `async with await pool.aio.create() as sandbox`.
"""
from .._errors import PoolFull, SandboxLost
from .._pool.awaited import AsyncPool, AsyncPoolSandbox
from .._pool.sandbox import PoolSandbox
from .pool import SandboxPool

__all__ = ["AsyncPool", "AsyncPoolSandbox", "PoolFull", "PoolSandbox", "SandboxLost", "SandboxPool"]
