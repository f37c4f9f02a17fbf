# SPDX-License-Identifier: Apache-2.0
"""tinker-cookbook: a sandbox for its environments and rollouts.

    sandbox = await ClocheSandbox.create()
"""
from __future__ import annotations

from typing import Any, Optional, Union

from tinker_cookbook.sandbox.sandbox_interface import SandboxResult, SandboxTerminatedError

from .. import aio
from .._errors import SandboxError, ServerError
from ._programs import run_script

_OUTPUT_BYTES = 128 << 10


def _capped(text: str, limit: int) -> str:
    """Its first bytes, as UTF-8 has them."""
    data = text.encode()
    return text if len(data) <= limit else data[:limit].decode("utf-8", "ignore")


class ClocheSandbox:
    """A sandbox, made by `create`; conforms to `SandboxInterface`. One that is gone raises
    `SandboxTerminatedError`, so that it is no result."""

    def __init__(self, sandbox: aio.Sandbox) -> None:
        self.sandbox = sandbox

    @classmethod
    async def create(cls, **options: Any) -> "ClocheSandbox":
        """A sandbox that is ready; the options are those of `cloche.Sandbox`."""
        return cls(await aio.Sandbox.create(timeout_ms=0, **options))

    @property
    def sandbox_id(self) -> str:
        """Of a server: the session; otherwise the sandbox's name in this process."""
        return self.sandbox.session_id or self.sandbox.id

    async def send_heartbeat(self, timeout: int = 30) -> None:
        """Asks the sandbox for a sign of life."""
        try:
            await self.sandbox.usage()
        except ServerError as error:
            raise SandboxTerminatedError(str(error)) from error

    async def run_command(self, command: str, workdir: Optional[str] = None, timeout: int = 60,
                          max_output_bytes: Optional[int] = None) -> SandboxResult:
        """Runs a command in a fresh shell; over its time the exit code is 124."""
        limit = _OUTPUT_BYTES if max_output_bytes is None else max_output_bytes
        try:
            result = await run_script(self.sandbox, command, cwd=workdir, timeout=timeout)
        except ServerError as error:
            raise SandboxTerminatedError(str(error)) from error
        except SandboxError as error:
            return SandboxResult(stdout="", stderr=str(error), exit_code=-1)
        return SandboxResult(stdout=_capped(result.stdout, limit), stderr=_capped(result.stderr, limit),
                             exit_code=result.exit_code, metrics={"execution_time_ms": result.execution_time_ms})

    async def read_file(self, path: str, max_bytes: Optional[int] = None, timeout: int = 60) -> SandboxResult:
        """The text of a file, in `stdout`."""
        try:
            data = await self.sandbox.files.read(path, length=max_bytes)
        except ServerError as error:
            raise SandboxTerminatedError(str(error)) from error
        except SandboxError as error:
            return SandboxResult(stdout="", stderr=str(error), exit_code=1)
        return SandboxResult(stdout=data.decode("utf-8", "replace"), stderr="", exit_code=0)

    async def write_file(self, path: str, content: Union[str, bytes] = "", executable: bool = False,
                         timeout: int = 60) -> SandboxResult:
        """Makes or overwrites a file, and the folders that lead to it."""
        try:
            await self.sandbox.files.write(path, content, mode=0o755 if executable else None)
        except ServerError as error:
            raise SandboxTerminatedError(str(error)) from error
        except SandboxError as error:
            return SandboxResult(stdout="", stderr=str(error), exit_code=1)
        return SandboxResult(stdout="", stderr="", exit_code=0)

    async def cleanup(self) -> None:
        """Ends the sandbox. A second time does nothing."""
        await self.sandbox.kill()
