# SPDX-License-Identifier: Apache-2.0
"""Google's Agent Development Kit: an environment for its `EnvironmentToolset`.

    agent = LlmAgent(model=..., tools=[EnvironmentToolset(environment=ClocheEnvironment())])
"""
from __future__ import annotations

from pathlib import Path
from typing import Any, Optional, Union

from google.adk.environment import BaseEnvironment, ExecutionResult

from .. import aio
from ._programs import run_script


class ClocheEnvironment(BaseEnvironment):
    """A sandbox, from `initialize` to `close`; the options are those of `cloche.Sandbox`."""

    def __init__(self, **options: Any) -> None:
        self._options = options
        self._sandbox: Optional[aio.Sandbox] = None

    @property
    def sandbox(self) -> aio.Sandbox:
        """The sandbox, once it is there."""
        if self._sandbox is None:
            raise RuntimeError("the environment is not there: await initialize()")
        return self._sandbox

    @property
    def working_dir(self) -> Path:
        """In the sandbox."""
        return Path("/workspace")

    async def initialize(self) -> None:
        """Makes the sandbox. A second time does nothing."""
        if self._sandbox is None:
            self._sandbox = await aio.Sandbox.create(timeout_ms=0, **self._options)
        self.is_initialized = True

    async def close(self) -> None:
        """Ends the sandbox. A second time does nothing."""
        sandbox, self._sandbox = self._sandbox, None
        self.is_initialized = False
        if sandbox is not None:
            await sandbox.kill()

    async def execute(self, command: str, *, timeout: Optional[float] = None) -> ExecutionResult:
        """Runs a command in a fresh shell; files stay."""
        result = await run_script(self.sandbox, command, cwd=str(self.working_dir), timeout=timeout)
        return ExecutionResult(exit_code=result.exit_code, stdout=result.stdout, stderr=result.stderr,
                               timed_out=result.status == "timedOut")

    async def read_file(self, path: Union[str, Path]) -> bytes:
        """A file; relative paths start in `working_dir`."""
        return await self.sandbox.files.read(str(path))

    async def write_file(self, path: Union[str, Path], content: Union[str, bytes]) -> None:
        """Makes or overwrites a file, and the folders that lead to it."""
        await self.sandbox.files.write(str(path), content)
