# SPDX-License-Identifier: Apache-2.0
"""OpenAI Agents SDK: sandboxes for its `SandboxAgent`s.

    config = RunConfig(sandbox=SandboxRunConfig(client=ClocheSandboxClient()))
    await Runner.run(agent, "...", run_config=config)

A session's workspace is the home folder of a sandbox; what it persists is a tar archive. Commands run as the
sandbox's user or as its root. Other users, groups, mounts and exposed ports are refused.
"""
from __future__ import annotations

import io
import uuid
from pathlib import Path
from typing import Any, Dict, Literal, Optional, Tuple, Union

from agents.sandbox import Manifest
from agents.sandbox.entries import Mount
from agents.sandbox.errors import (ExecTimeoutError, ExecTransportError, WorkspaceArchiveReadError,
                                   WorkspaceArchiveWriteError, WorkspaceReadNotFoundError, WorkspaceWriteTypeError)
from agents.sandbox.session import (BaseSandboxClient, BaseSandboxClientOptions, BaseSandboxSession, Instrumentation,
                                    SandboxSession, SandboxSessionState)
from agents.sandbox.session.tar_workspace import shell_tar_exclude_args
from agents.sandbox.snapshot import SnapshotBase, SnapshotSpec, resolve_snapshot
from agents.sandbox.types import ExecResult, User
from agents.sandbox.util.tar_utils import UnsafeTarMemberError, validate_tar_bytes

from .. import aio
from .._errors import SandboxError
from ._programs import run_script, script_of

_ROOT = "/workspace"
_ACCOUNTS = {"sandbox": "user", "root": "root"}


class ClocheSandboxClientOptions(BaseSandboxClientOptions):
    """What the sandboxes of a client have; the fields are those of `cloche.Sandbox`."""

    type: Literal["cloche"] = "cloche"
    packages: Tuple[str, ...] = ()
    network: Tuple[str, ...] = ()
    env: Tuple[Tuple[str, str], ...] = ()
    fs_limit_bytes: int = 1 << 30
    url: Optional[str] = None


class ClocheSandboxSessionState(SandboxSessionState):
    """A session that can be resumed, while its sandbox is there in it, else with the workspace of its snapshot."""

    type: Literal["cloche"] = "cloche"
    options: ClocheSandboxClientOptions
    server_session: Optional[str] = None


async def _make(options: ClocheSandboxClientOptions, token: Optional[str], session: Optional[str] = None) -> aio.Sandbox:
    of_server: Dict[str, Any] = {} if options.url is None else {"url": options.url, "token": token}
    if session is not None:
        return await aio.Sandbox.create(timeout_ms=0, session_id=session, **of_server)
    return await aio.Sandbox.create(timeout_ms=0, packages=options.packages, network=list(options.network) or None,
                                    env=dict(options.env), fs_limit_bytes=options.fs_limit_bytes, **of_server)


def _check(manifest: Manifest) -> Manifest:
    if manifest.root != _ROOT:
        raise ValueError(f"the workspace of a cloche sandbox is {_ROOT}, and not {manifest.root}")
    if manifest.users or manifest.groups:
        raise ValueError("a cloche sandbox has the users sandbox and root, and makes no others")
    if manifest.extra_path_grants:
        raise ValueError("a cloche sandbox has no folders of this machine")
    if any(isinstance(entry, Mount) for _, entry in manifest.iter_entries()):
        raise ValueError("a cloche sandbox mounts nothing")
    return manifest


class ClocheSandboxSession(BaseSandboxSession):
    """A session on one sandbox."""

    state: ClocheSandboxSessionState

    def __init__(self, state: ClocheSandboxSessionState, sandbox: aio.Sandbox) -> None:
        self.state = state
        self.sandbox = sandbox

    async def _exec_internal(self, *command: Union[str, Path], timeout: Optional[float] = None) -> ExecResult:
        words = [str(word) for word in command]
        account = "user"
        if words[:2] == ["sudo", "-u"] and words[3:4] == ["--"]:  # as `exec` says whose it is
            if words[2] not in _ACCOUNTS:
                raise ValueError(f"a cloche sandbox has the users sandbox and root, and no {words[2]!r}")
            account, words = _ACCOUNTS[words[2]], words[4:]
        env = await self.state.manifest.environment.resolve()
        try:
            result = await run_script(self.sandbox, script_of(words), cwd=_ROOT, env=env, timeout=timeout,
                                      account=account)
        except SandboxError as error:
            raise ExecTransportError(command=command, cause=error) from error
        if result.status == "timedOut":
            raise ExecTimeoutError(command=command, timeout_s=timeout)
        return ExecResult(stdout=result.stdout.encode(), stderr=result.stderr.encode(), exit_code=result.exit_code)

    async def read(self, path: Path, *, user: Union[str, User, None] = None) -> io.IOBase:
        if user is not None:
            await self._check_read_with_exec(path, user=user)
        place = await self._validate_path_access(path)
        try:
            return io.BytesIO(await self.sandbox.files.read(place.as_posix()))
        except FileNotFoundError as error:
            raise WorkspaceReadNotFoundError(path=path, cause=error) from error
        except SandboxError as error:
            raise WorkspaceArchiveReadError(path=path, cause=error) from error

    async def write(self, path: Path, data: io.IOBase, *, user: Union[str, User, None] = None) -> None:
        if user is not None:
            await self._check_write_with_exec(path, user=user)
        content = data.read()
        if not isinstance(content, (str, bytes, bytearray)):
            raise WorkspaceWriteTypeError(path=path, actual_type=type(content).__name__)
        place = await self._validate_path_access(path, for_write=True)
        try:
            await self.sandbox.files.write(place.as_posix(), content)
        except SandboxError as error:
            raise WorkspaceArchiveWriteError(path=path, cause=error) from error

    async def running(self) -> bool:
        return self.sandbox.is_alive

    async def persist_workspace(self) -> io.IOBase:
        skipped = " ".join(shell_tar_exclude_args(self._persist_workspace_skip_relpaths()))
        name = f"/tmp/{uuid.uuid4().hex}.tar"
        try:
            made = await run_script(self.sandbox, f"tar {skipped} -C {_ROOT} -cf {name} .")
            if made.exit_code != 0:
                raise WorkspaceArchiveReadError(path=Path(_ROOT), context={"stderr": made.stderr})
            content = await self.sandbox.files.read(name)
            await self.sandbox.files.rm(name)
        except SandboxError as error:
            raise WorkspaceArchiveReadError(path=Path(_ROOT), cause=error) from error
        return io.BytesIO(content)

    async def hydrate_workspace(self, data: io.IOBase) -> None:
        content = data.read()
        if not isinstance(content, (bytes, bytearray)):
            raise WorkspaceWriteTypeError(path=Path(_ROOT), actual_type=type(content).__name__)
        name = f"/tmp/{uuid.uuid4().hex}.tar"
        try:
            validate_tar_bytes(bytes(content), allow_external_symlink_targets=False)
            await self.sandbox.files.write(name, bytes(content))
            done = await run_script(self.sandbox, f"tar -C {_ROOT} -xf {name}")
            await self.sandbox.files.rm(name)
        except (SandboxError, UnsafeTarMemberError) as error:
            raise WorkspaceArchiveWriteError(path=Path(_ROOT), cause=error) from error
        if done.exit_code != 0:
            raise WorkspaceArchiveWriteError(path=Path(_ROOT), context={"stderr": done.stderr})

    async def _shutdown_backend(self) -> None:
        await self.sandbox.kill()


class ClocheSandboxClient(BaseSandboxClient[Optional[ClocheSandboxClientOptions]]):
    """Makes a sandbox for each session. `token` is that of the server that the options name."""

    backend_id = "cloche"
    supports_default_options = True

    def __init__(self, *, token: Optional[str] = None, instrumentation: Optional[Instrumentation] = None) -> None:
        self._token = token
        self._instrumentation = Instrumentation() if instrumentation is None else instrumentation

    async def create(self, *, snapshot: Union[SnapshotSpec, SnapshotBase, None] = None,
                     manifest: Optional[Manifest] = None,
                     options: Optional[ClocheSandboxClientOptions] = None) -> SandboxSession:
        wish = ClocheSandboxClientOptions() if options is None else options
        what = self._validate_manifest_for_create(_check(Manifest() if manifest is None else manifest))
        sandbox = await _make(wish, self._token)
        number = uuid.uuid4()
        state = ClocheSandboxSessionState(session_id=number, manifest=what, options=wish,
                                          snapshot=resolve_snapshot(snapshot, str(number)),
                                          server_session=sandbox.session_id)
        return self._wrap_session(ClocheSandboxSession(state, sandbox), instrumentation=self._instrumentation)

    async def delete(self, session: SandboxSession) -> SandboxSession:
        inner = session._inner
        if not isinstance(inner, ClocheSandboxSession):
            raise TypeError("that session is of another client")
        await inner.sandbox.kill()
        return session

    async def resume(self, state: SandboxSessionState) -> SandboxSession:
        if not isinstance(state, ClocheSandboxSessionState):
            raise TypeError("that state is of another client")
        state.assert_path_grants_rebound()
        _check(state.manifest)
        old: Optional[aio.Sandbox] = None
        if state.server_session is not None:
            try:
                old = await _make(state.options, self._token, state.server_session)
            except SandboxError:
                pass  # it has ended: its workspace is in the snapshot
        sandbox = old or await _make(state.options, self._token)
        if old is None:
            state.server_session = sandbox.session_id
            state.workspace_root_ready = False
        inner = ClocheSandboxSession(state, sandbox)
        inner._set_start_state_preserved(old is not None)
        return self._wrap_session(inner, instrumentation=self._instrumentation)

    def deserialize_session_state(self, payload: Dict[str, object]) -> SandboxSessionState:
        return self._deserialize_session_state_payload(payload, ClocheSandboxSessionState)
