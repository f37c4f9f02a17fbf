# SPDX-License-Identifier: Apache-2.0
"""NeMo Gym: the sandbox provider `cloche`.

    sandbox = AsyncSandbox({"cloche": {"packages": ["numpy"]}}, SandboxSpec(workdir="/workspace"))

A sandbox of WebAssembly has no images, GPUs and entry points: a specification with one is refused. An
infrastructure that fails is an error type and never a result.
"""
from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, Dict, Optional, Union

from nemo_gym.sandbox.providers import SandboxCreateError, SandboxExecResult, SandboxHandle, SandboxSpec, SandboxStatus

from .. import aio
from .._errors import SandboxError, ServerError
from ._programs import run_script

_ACCOUNTS: Dict[Union[str, int, None], str] = {None: "user", "sandbox": "user", 1000: "user", "root": "root", 0: "root"}
_NOT_RUN = 125


def _limits_of(spec: SandboxSpec) -> Dict[str, Any]:
    refused = [name for name, value in [("image", spec.image), ("entrypoint", spec.entrypoint),
                                        ("resources.gpu", spec.resources.gpu),
                                        ("resources.gpu_type", spec.resources.gpu_type)] if value]
    if refused or spec.provider_options:
        raise SandboxCreateError(f"a cloche sandbox has no {(refused or list(spec.provider_options))[0]}")
    options: Dict[str, Any] = {}
    limits: Dict[str, Any] = {}
    if spec.resources.memory_mib is not None:
        limits["memory_bytes"] = spec.resources.memory_mib << 20
    if spec.resources.cpu is not None:
        limits["cpus"] = max(1, round(spec.resources.cpu))
    if limits:
        options["limits"] = limits
    if spec.resources.disk_gib is not None:
        options["fs_limit_bytes"] = spec.resources.disk_gib << 30
    return options


class ClocheProvider:
    """Makes sandboxes; the options are those of `cloche.Sandbox`."""

    name = "cloche"

    def __init__(self, **options: Any) -> None:
        self._options = options

    async def create(self, spec: SandboxSpec) -> SandboxHandle:
        """A sandbox that is ready."""
        options = {**self._options, **_limits_of(spec)}
        if spec.ttl_s is not None and self._options.get("url") is not None:
            options["ttl"] = int(spec.ttl_s)
        options["env"] = {**options.get("env", {}), **spec.env}
        try:
            sandbox = await asyncio.wait_for(aio.Sandbox.create(timeout_ms=0, **options), spec.ready_timeout_s)
            if spec.workdir is not None:
                await sandbox.files.mkdir(spec.workdir, parents=True, exist_ok=True)
        except (SandboxError, asyncio.TimeoutError) as error:
            raise SandboxCreateError(str(error) or "the sandbox was not ready in time") from error
        return SandboxHandle(sandbox_id=sandbox.session_id or sandbox.id, provider_name=self.name, raw=sandbox)

    async def exec(self, handle: SandboxHandle, command: str, *, cwd: Optional[str] = None,
                   env: Optional[Dict[str, str]] = None, timeout_s: Union[int, float, None] = None,
                   user: Union[str, int, None] = None) -> SandboxExecResult:
        """Runs a command in a fresh shell."""
        if user not in _ACCOUNTS:
            raise ValueError(f"a cloche sandbox has the users sandbox and root, and no {user!r}")
        try:
            result = await run_script(handle.raw, command, cwd=cwd, env=env, timeout=timeout_s, account=_ACCOUNTS[user])
        except ServerError as error:
            return SandboxExecResult(stdout=None, stderr=str(error), return_code=_NOT_RUN, error_type="sandbox")
        timed_out = result.status == "timedOut"
        return SandboxExecResult(stdout=result.stdout, stderr=result.stderr, return_code=result.exit_code,
                                 error_type="timeout" if timed_out else None)

    async def upload_file(self, handle: SandboxHandle, source_path: Path, target_path: str) -> None:
        """Copies a file of this machine into the sandbox."""
        await handle.raw.files.write(target_path, await asyncio.to_thread(Path(source_path).read_bytes))

    async def download_file(self, handle: SandboxHandle, source_path: str, target_path: Path) -> None:
        """Copies a file of the sandbox to this machine."""
        content = await handle.raw.files.read(source_path)
        target = Path(target_path)

        def put() -> None:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
        await asyncio.to_thread(put)

    async def status(self, handle: SandboxHandle) -> SandboxStatus:
        """Asks the sandbox for a sign of life."""
        if not handle.raw.is_alive:
            return SandboxStatus.STOPPED
        try:
            await handle.raw.usage()
        except SandboxError:
            return SandboxStatus.ERROR
        return SandboxStatus.RUNNING

    async def close(self, handle: SandboxHandle) -> None:
        """Ends the sandbox. A second time does nothing."""
        await handle.raw.kill()

    async def aclose(self) -> None:
        """There is nothing beside the sandboxes."""
