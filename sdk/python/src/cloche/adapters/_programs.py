# SPDX-License-Identifier: Apache-2.0
"""Programs of a sandbox, each beside what else it does: what adapters have in common."""
from __future__ import annotations

import shlex
from typing import Mapping, Optional, Sequence, Union

from .. import aio
from .._errors import SandboxError
from .._types import CommandResult

Input = Union[str, bytes, None]


def script_of(argv: Sequence[str]) -> str:
    """A script that becomes that program."""
    if isinstance(argv, str) or not argv:
        raise TypeError("a program is a list of words")
    return "exec " + shlex.join(argv)


async def run_script(sandbox: aio.Sandbox, script: str, *, input: Input = None, cwd: Optional[str] = None,
                     env: Optional[Mapping[str, str]] = None, timeout: Optional[float] = None,
                     account: str = "user") -> CommandResult:
    """Runs a script in a shell of its own, beside others; over `timeout` seconds its status is "timedOut"."""
    handle = await sandbox.commands.start(script, cwd=cwd, env=env, account=account,
                                          timeout_ms=None if timeout is None else max(timeout, 0.001) * 1000)
    async with handle:
        try:
            if input is not None:
                await handle.write(input)
            await handle.close_stdin()
        except SandboxError:
            if not sandbox.is_alive:
                raise
            # It reads no more, or has ended: the result says how.
        return await handle.wait()
