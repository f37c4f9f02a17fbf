# SPDX-License-Identifier: Apache-2.0
"""One coroutine function in many sandboxes."""
from __future__ import annotations

import asyncio
from typing import Any, Awaitable, Callable, Iterable, List, Optional, TypeVar, cast

from .._bar import ProgressOption, make_bar
from .._given import map_workers
from .sandbox import Sandbox

Item = TypeVar("Item")
Value = TypeVar("Value")


async def map_sandboxes(function: Callable[[Sandbox, Item], Awaitable[Value]], items: Iterable[Item], *,
                        base: Optional[Sandbox] = None, workers: Optional[int] = None,
                        progress: ProgressOption = None, label: str = "sandboxes", return_exceptions: bool = False,
                        **options: Any) -> List[Value]:
    """As `cloche.map_sandboxes`: awaits `function(sandbox, item)` for each item, several at a time. When one
    raises, or this is cancelled, the others are cancelled too."""
    count = map_workers(function, base, Sandbox, options, workers)
    given = list(items)
    limit = asyncio.Semaphore(count)
    bar = make_bar(progress, len(given), label)

    async def call(item: Item) -> Value:
        async with limit:
            try:
                async with (await base.fork() if base is not None else Sandbox(**options)) as sandbox:
                    value = await function(sandbox, item)
            except Exception as problem:
                if not return_exceptions:
                    raise
                value = cast(Value, problem)
            bar.step()
            return value

    tasks = [asyncio.ensure_future(call(item)) for item in given]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        bar.close()
