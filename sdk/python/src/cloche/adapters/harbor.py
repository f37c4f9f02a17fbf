# SPDX-License-Identifier: Apache-2.0
"""Harbor: trials in sandboxes of Cloche.

    harbor run --path TASK --agent oracle --env cloche.adapters.harbor:ClocheEnvironment

Options, by `--environment-kwarg`: `packages` (Python packages, with commas), `engine`, `url` and `token` of a server
(or the environment variables `CLOCHE_URL` and `CLOCHE_TOKEN`). A sandbox follows a Dockerfile whose base is a Debian,
Ubuntu or Python, as far as it copies files of its folder and runs commands; with `engine=linux` the base, or the task's
image, is one of the store (`cloche image import`). What cannot be had is refused when the trial begins.
"""
from __future__ import annotations

import asyncio
import os
import shlex
import uuid
import zlib
from pathlib import Path
from typing import Any, Dict, Optional, Sequence, Union

from harbor.environments.base import BaseEnvironment, ExecResult, SandboxBuildFailedError
from harbor.environments.capabilities import EnvironmentCapabilities, EnvironmentResourceCapabilities
from harbor.environments.definition import require_agent_environment_definition
from harbor.environments.tar_transfer import pack_dir_to_bytes, remote_pack_command, remote_unpack_command
from harbor.models.task.config import NetworkMode

from .. import aio
from .._trees import extract
from .._types import CommandResult
from ._dockerfile import (BASES, Build, BuildContext, Copy, Dockerfile, DockerfileError, Run, Text, Unpack,
                          base_is_like_a_sandbox)

_ACCOUNTS: Dict[Union[str, int, None], str] = {
    None: "root", "root": "root", "0": "root", 0: "root", "sandbox": "user", "1000": "user", 1000: "user"}
_SAID_MAX = 2000
_UNPACKED_MAX = 1 << 30  # bytes
# Variables of a session, which no image has, and no Dockerfile sees.
_OF_A_SESSION = {"HOME", "HOSTNAME", "LOGNAME", "OLDPWD", "PWD", "SHELL", "SHLVL", "TERM", "USER", "_"}


def _list_of(value: Union[str, Sequence[str]]) -> Sequence[str]:
    return [word for word in value.split(",") if word] if isinstance(value, str) else value


def _passing_name() -> str:
    """Where what root's files hold is for a moment: the files of a sandbox are its user's to read and write."""
    return f"/tmp/.{uuid.uuid4().hex}"


def _unpack(packed: bytes, target: Path) -> None:
    """What a folder of the sandbox was packed into, which may be anything."""
    unpacking = zlib.decompressobj(wbits=31)
    try:
        archive = unpacking.decompress(packed, _UNPACKED_MAX)
    except zlib.error as error:
        raise RuntimeError(f"the sandbox has packed its folder into what is no archive: {error}") from error
    if not unpacking.eof:
        raise RuntimeError(f"the folder has more than {_UNPACKED_MAX} bytes, or its archive is cut short")
    extract(archive, target)


def _merge_script(source: str, target: str) -> str:
    """Puts what is in a folder into another one, which stays as it is, as do folders and links to them in it."""
    folder = shlex.quote(target)
    return (f"mkdir -p {folder} && if tar --help 2>&1 | grep -q keep-directory-symlink; then "
            f"tar -C {source} -cf - . | tar -C {folder} -xpf - --no-overwrite-dir --keep-directory-symlink; else "
            f"find {source} -mindepth 1 -maxdepth 1 -exec cp -a {{}} {folder} \\;; fi")


class ClocheEnvironment(BaseEnvironment):
    """One trial's sandbox."""

    def __init__(self, *args: Any, packages: Union[str, Sequence[str]] = (), engine: str = "wasm",
                 url: Optional[str] = None, token: Optional[str] = None, **kwargs: Any) -> None:
        if engine not in ("wasm", "linux"):
            raise ValueError(f"the engines of cloche are wasm and linux, and not {engine!r}")
        self._engine = engine
        self._options: Dict[str, Any] = {"packages": list(_list_of(packages))}
        url = url or os.environ.get("CLOCHE_URL")
        if url:
            self._options.update(url=url, token=token or os.environ.get("CLOCHE_TOKEN"))
        self._base = "debian"
        self._dockerfile: Optional[Dockerfile] = None
        self._build = Build()
        self._sandbox: Optional[aio.Sandbox] = None
        super().__init__(*args, **kwargs)

    @staticmethod
    def type() -> str:
        """Its name in Harbor."""
        return "cloche"

    @property
    def capabilities(self) -> EnvironmentCapabilities:
        """Rules of the network of each kind; no GPUs, Compose files or mounts."""
        return EnvironmentCapabilities(
            disable_internet=True, network_allowlist=True, network_allowlist_hostnames=True,
            network_allowlist_wildcard_hostnames=True, network_allowlist_ipv4_addresses=True,
            network_allowlist_ipv6_addresses=True, network_allowlist_ipv4_cidrs=True, network_allowlist_ipv6_cidrs=True)

    @classmethod
    def resource_capabilities(cls) -> EnvironmentResourceCapabilities:
        """Processors and memory are limits, and nothing is set aside."""
        return EnvironmentResourceCapabilities(cpu_limit=True, memory_limit=True)

    def _validate_definition(self) -> None:
        image = self.task_env_config.docker_image
        require_agent_environment_definition(self.environment_dir, docker_image=image)
        if any((self.environment_dir / name).exists() for name in ("docker-compose.yaml", "docker-compose.yml")):
            raise ValueError("a cloche sandbox is one computer: this task wants several, by a Compose file")
        dockerfile = self.environment_dir / "Dockerfile"
        if dockerfile.exists():
            self._dockerfile = Dockerfile(dockerfile)
            self._dockerfile.check()
            self._base = self._dockerfile.base
        elif image:
            self._base = image
        if self._engine == "wasm" and not base_is_like_a_sandbox(self._base):
            raise DockerfileError(f"this task wants the image {self._base}, and a sandbox of WebAssembly is like "
                                  f"{', '.join(BASES)} alone: engine=linux has images")

    def _network(self) -> Optional[Sequence[str]]:
        if self.network_policy.network_mode == NetworkMode.NO_NETWORK:
            return None
        if self.network_policy.network_mode == NetworkMode.PUBLIC:
            return ["*"]
        return [f"[{host}]" if ":" in host else host for host in self.network_policy.allowed_hosts]

    def _create_options(self) -> Dict[str, Any]:
        options: Dict[str, Any] = {**self._options, "timeout_ms": 0, "network": self._network()}
        if self._engine == "linux":
            options.update(engine="linux", image=self._base)
        limits: Dict[str, Any] = {}
        if self._effective_memory_mb is not None:
            limits["memory_bytes"] = self._effective_memory_mb << 20
        if self._effective_cpus is not None:
            limits["cpus"] = max(1, self._effective_cpus)
        if limits:
            options["limits"] = limits
        if self._effective_storage_mb is not None:
            options["fs_limit_bytes"] = self._effective_storage_mb << 20
        return options

    async def start(self, force_build: bool) -> None:
        """Makes the sandbox and does what the Dockerfile says; it is made anew for each trial."""
        if self._sandbox is not None:
            return
        self._sandbox = await aio.Sandbox.create(**self._create_options())
        try:
            await self._follow(self._sandbox)
            await self.ensure_dirs(self._mount_targets(writable_only=True))
            await self._upload_environment_dir_after_start()
        except BaseException:
            await self.stop(delete=True)
            raise

    async def _follow(self, sandbox: aio.Sandbox) -> None:
        if self._dockerfile is not None:
            own = await sandbox.env.all()
            inherited = {name: value for name, value in own.items() if name not in _OF_A_SESSION}
            self._build = self._dockerfile.build(inherited)
        for name, value in {**self._build.env, **self._startup_env()}.items():
            await sandbox.env.set(name, value)
        if self._dockerfile is not None:
            for step in self._build.steps:
                await self._do(step, self._dockerfile.context)

    async def stop(self, delete: bool) -> None:
        """Ends the sandbox; none is kept."""
        sandbox, self._sandbox = self._sandbox, None
        if sandbox is not None:
            await sandbox.kill()

    def _there(self) -> aio.Sandbox:
        if self._sandbox is None:
            raise RuntimeError("the environment has not been started")
        return self._sandbox

    async def _do(self, step: Union[Run, Copy, Unpack], context: BuildContext) -> None:
        if isinstance(step, Run):
            await self._do_run(step)
        elif isinstance(step, Copy):
            await self._do_copy(step, context)
        else:
            await self._do_unpack(step)

    async def _do_run(self, step: Run) -> None:
        result = await self._run(step.script, step.workdir, step.env, None, step.account, emits=False)
        if result.exit_code != 0:
            said = (result.stdout + result.stderr).strip()[-_SAID_MAX:]
            raise SandboxBuildFailedError(f"RUN {step.script} of the Dockerfile ended with {result.exit_code} in a "
                                          f"cloche sandbox: {said}")

    async def _do_copy(self, step: Copy, context: BuildContext) -> None:
        for source in step.sources:
            if isinstance(source, Text):
                await self._install(source.content.encode(), step.target, step.mode or "644", step.owner, source.name)
            elif source.is_dir():
                with context.taken(source) as taken:
                    await self._copy_folder(taken, step)
            else:
                mode = step.mode or f"{source.stat().st_mode & 0o777:o}"
                await self._install(await asyncio.to_thread(source.read_bytes), step.target, mode, step.owner, source.name)

    async def _copy_folder(self, source: Path, step: Copy) -> None:
        passing = _passing_name()
        await self.upload_dir(source, passing)
        chmod = f"chmod -R {shlex.quote(step.mode)} {passing} && " if step.mode else ""
        await self._check(f"{chmod}chown -hR {step.owner}: {passing} && {_merge_script(passing, step.target)}; "
                          f"s=$?; rm -rf {passing}; exit $s")

    async def _do_unpack(self, step: Unpack) -> None:
        passing = _passing_name()
        await self._there().files.write(passing, await asyncio.to_thread(step.source.read_bytes))
        await self._check(f"mkdir {passing}.d && tar -xf {passing} -C {passing}.d && {_merge_script(passing + '.d', step.target)}; "
                          f"s=$?; rm -rf {passing} {passing}.d; exit $s")

    async def _run(self, script: str, cwd: Optional[str], env: Optional[Dict[str, str]], timeout: Optional[float],
                   account: str, emits: bool = True) -> CommandResult:
        emit = self._output_callback() if emits else None
        handle = await self._there().commands.start(script, cwd=cwd, env=env, account=account,
                                                    timeout_ms=None if timeout is None else max(timeout, 0.001) * 1000)
        async with handle:
            await handle.close_stdin()
            if emit is not None:
                async for chunk in handle:
                    await emit(chunk.text, "stderr" if chunk.stream == "stderr" else "stdout")
            return await handle.wait()

    async def exec(self, command: str, cwd: Optional[str] = None, env: Optional[Dict[str, str]] = None,
                   timeout_sec: Optional[int] = None, user: Union[str, int, None] = None) -> ExecResult:
        """Runs a command in a shell of its own."""
        user = self._resolve_user(user)
        if user not in _ACCOUNTS:
            raise ValueError(f"a cloche sandbox has the users root and sandbox, and no {user!r}")
        account = self._build.account if user is None else _ACCOUNTS[user]
        workdir = cwd or self.task_env_config.workdir or self._build.workdir
        result = await self._run(command, workdir, {**self._build.env, **(self._merge_env(env) or {})}, timeout_sec,
                                 account)
        if result.status == "timedOut":
            raise TimeoutError(f"the command ran over its {timeout_sec} seconds: {command[:200]}")
        return ExecResult(stdout=result.stdout, stderr=result.stderr, return_code=result.exit_code)

    async def _check(self, script: str) -> None:
        result = await self._run(script, "/", None, None, "root", emits=False)
        if result.exit_code != 0:
            raise RuntimeError(f"{script}: {result.stderr.strip()[-_SAID_MAX:] or result.exit_code}")

    async def upload_file(self, source_path: Union[Path, str], target_path: str) -> None:
        """Copies a file of this machine; the folders above it are made."""
        source = Path(source_path)
        await self._install(await asyncio.to_thread(source.read_bytes), target_path, f"{source.stat().st_mode & 0o777:o}",
                            "root", source.name)

    async def _install(self, content: bytes, target: str, mode: str, owner: str, name: str) -> None:
        """In a folder that is there, and where the target is one (it ends in /), it gets its name."""
        passing = _passing_name()
        await self._there().files.write(passing, content)
        await self._check(f"t={shlex.quote(target)}; [ ! -d \"$t\" ] && [ \"$t\" = \"${{t%/}}\" ] || t=\"${{t%/}}\"/{shlex.quote(name)}; "
                          f"install -D -o {owner} -m {shlex.quote(mode)} -- {passing} \"$t\"; s=$?; rm -f {passing}; exit $s")

    async def download_file(self, source_path: str, target_path: Union[Path, str]) -> None:
        """Copies a file of the sandbox."""
        passing = _passing_name()
        await self._check(f"install -m 644 -- {shlex.quote(source_path)} {passing}")
        await asyncio.to_thread(Path(target_path).write_bytes, await self._take(passing))

    async def _take(self, passing: str) -> bytes:
        try:
            return await self._there().files.read(passing)
        finally:
            await self._check(f"rm -f {passing}")

    async def upload_dir(self, source_dir: Union[Path, str], target_dir: str) -> None:
        """Copies what is in a folder of this machine, with modes and links."""
        archive = _passing_name()
        packed = await asyncio.to_thread(pack_dir_to_bytes, source_dir, compress=True)
        await self._there().files.write(archive, packed.getvalue())
        await self._check(f"{remote_unpack_command(archive, target_dir)}; s=$?; rm -f {archive}; exit $s")

    async def download_dir(self, source_dir: str, target_dir: Union[Path, str]) -> None:
        """Copies what is in a folder of the sandbox, with modes and links; what would leave the folder is left out."""
        archive = _passing_name()
        await self._check(remote_pack_command(source_dir, archive))
        await asyncio.to_thread(_unpack, await self._take(archive), Path(target_dir))
