# SPDX-License-Identifier: Apache-2.0
"""Inspect: `sandbox="cloche"` of a task gives each sample a sandbox of its own.

The configuration is a `ClocheSandboxConfig`, or the name of a JSON file with one:

    Task(..., sandbox=("cloche", "cloche.json"))          # {"packages": ["numpy"], "network": ["example.com:443"]}

`ClocheSandboxConfig(engine="linux", image="debian")` are boxes of native programs with an image that `cloche image` has.
Inspect's `text_editor` and `bash_session` need these: they put a program for x86 into the sandbox.

Environment variables `CLOCHE_URL` and `CLOCHE_TOKEN` say of which server, where the configuration does not.
Programs run as the sandbox's user or as its root; other users and Compose files are refused.
"""
from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Dict, List, Optional, Union

from inspect_ai.util import (ExecResult, OutputLimitExceededError, SandboxEnvironment, SandboxEnvironmentConfigType,
                             SandboxEnvironmentLimits, SandboxUnavailableError, SandboxUserUnsupportedError, sandboxenv)
from pydantic import BaseModel, ConfigDict

from .. import aio
from .._errors import ServerError
from ._programs import run_script, script_of

_USERS = {None: "user", "sandbox": "user", "1000": "user", "root": "root", "0": "root"}
_NOT_EXECUTABLE = 126


class ClocheSandboxConfig(BaseModel):
    """What the sandboxes of a task have; the fields are those of `cloche.Sandbox`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    packages: tuple[str, ...] = ()
    network: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    fs_limit_bytes: int = 1 << 30
    memory_bytes: Optional[int] = None
    engine: Optional[str] = None
    image: Optional[str] = None
    url: Optional[str] = None
    token: Optional[str] = None


def _config_of(config: Optional[SandboxEnvironmentConfigType]) -> ClocheSandboxConfig:
    if config is None:
        return ClocheSandboxConfig()
    if isinstance(config, ClocheSandboxConfig):
        return config
    if isinstance(config, str) and config.endswith(".json"):
        return ClocheSandboxConfig(**json.loads(Path(config).read_text()))
    raise ValueError("a cloche sandbox is configured by a ClocheSandboxConfig, or by a JSON file with its fields: "
                     "Dockerfiles and Compose files are of other providers")


@sandboxenv(name="cloche")
class ClocheSandboxEnvironment(SandboxEnvironment):
    """A sandbox of Cloche."""

    def __init__(self, sandbox: aio.Sandbox) -> None:
        super().__init__()
        self.sandbox = sandbox

    @classmethod
    def config_files(cls) -> List[str]:
        return ["cloche.json"]

    @classmethod
    def config_deserialize(cls, config: Dict[str, Any]) -> BaseModel:
        return ClocheSandboxConfig(**config)

    @classmethod
    async def sample_init(cls, task_name: str, config: Optional[SandboxEnvironmentConfigType],
                          metadata: Dict[str, str]) -> Dict[str, SandboxEnvironment]:
        wish = _config_of(config)
        sandbox = await aio.Sandbox.create(
            timeout_ms=0, fs_limit_bytes=wish.fs_limit_bytes, packages=wish.packages, env=dict(wish.env),
            network=list(wish.network) or None, engine=wish.engine, image=wish.image,
            url=wish.url or os.environ.get("CLOCHE_URL") or None,
            token=wish.token or os.environ.get("CLOCHE_TOKEN") or None,
            limits=None if wish.memory_bytes is None else {"memory_bytes": wish.memory_bytes})
        return {"default": cls(sandbox)}

    @classmethod
    async def sample_cleanup(cls, task_name: str, config: Optional[SandboxEnvironmentConfigType],
                             environments: Dict[str, SandboxEnvironment], interrupted: bool) -> None:
        for environment in environments.values():
            await environment.as_type(ClocheSandboxEnvironment).sandbox.kill()

    def default_polling_interval(self) -> float:
        return 0.2

    async def exec(self, cmd: List[str], input: Union[str, bytes, None] = None, cwd: Optional[str] = None,
                   env: Optional[Dict[str, str]] = None, user: Optional[str] = None, timeout: Optional[int] = None,
                   timeout_retry: bool = True, concurrency: bool = True) -> ExecResult[str]:
        if user not in _USERS:
            raise SandboxUserUnsupportedError(f"a cloche sandbox has the users sandbox and root, and no {user!r}")
        try:
            result = await run_script(self.sandbox, script_of(cmd), input=input, cwd=cwd, env=env, timeout=timeout,
                                      account=_USERS[user])
        except ServerError as error:
            raise SandboxUnavailableError(str(error)) from error
        if result.status == "timedOut":
            raise TimeoutError(f"the command took longer than {timeout} seconds")
        if result.exit_code == _NOT_EXECUTABLE and "Permission denied" in result.stderr:
            raise PermissionError(result.stderr.strip())
        limit = SandboxEnvironmentLimits.MAX_EXEC_OUTPUT_SIZE
        for text in (result.stdout, result.stderr):
            if result.truncated or len(text) > limit or len(text.encode()) > limit:
                raise OutputLimitExceededError(SandboxEnvironmentLimits.MAX_EXEC_OUTPUT_SIZE_STR, text[:limit])
        return ExecResult(result.exit_code == 0, result.exit_code, result.stdout, result.stderr)

    async def write_file(self, file: str, contents: Union[str, bytes]) -> None:
        await self.sandbox.files.write(file, contents)

    async def read_file(self, file: str, text: bool = True) -> Any:
        info = await self.sandbox.files.stat(file)
        if info.type == "file" and info.size > SandboxEnvironmentLimits.MAX_READ_FILE_SIZE:
            raise OutputLimitExceededError(SandboxEnvironmentLimits.MAX_READ_FILE_SIZE_STR, None)
        data = await self.sandbox.files.read(file)
        return data.decode("utf-8") if text else data
