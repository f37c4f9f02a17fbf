# SPDX-License-Identifier: Apache-2.0
"""The API that awaits."""
from __future__ import annotations

import asyncio
import weakref
from concurrent.futures import Future
from typing import Any, Awaitable, Callable, Iterable, List, Mapping, Optional, Sequence, Tuple, Union

from .. import _live
from .. import _operations as operations
from .. import _server, _servers
from .._callbacks import Callbacks, CallbackSet
from .._errors import SandboxArgumentError, SandboxError, ServerError
from .._given import names_of
from .._host_commands import HostCommands
from .._types import (CommandResult, FileDetails, FileInfo, HistoryEntry, Mount, Packages, PythonResult,
                     Usage, command_result, python_result)
from ..sandbox import Data, _drop, _forget_made, _kill_started
from ._link import AsyncLink, OnOutput, answer_of
from .command_handle import CommandHandle



class _Part:
    """One part of a sandbox's API. Who has it has the sandbox, which ends when nobody does."""

    def __init__(self, link: AsyncLink, sandbox: object) -> None:
        self._link = link
        self._sandbox = sandbox

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of sandbox {self._link.sandbox_id}>"


class Commands(_Part):
    """Shell commands. See `cloche.Commands`."""

    async def run(self, command: str, *, on_stdout: Optional[OnOutput] = None,
                  on_stderr: Optional[OnOutput] = None, timeout_ms: Optional[float] = None,
                  cwd: Optional[operations.StrPath] = None, env: Optional[Mapping[str, str]] = None,
                  stdin: Optional[Data] = None, check: bool = False) -> CommandResult:
        """Runs a command; the callbacks may be coroutine functions."""
        stream = on_stdout is not None or on_stderr is not None
        params = operations.run_params(command, timeout_ms, cwd, env, stdin, stream)
        result = command_result(*await self._link.stream_async("run", params, on_stdout, on_stderr))
        return result.check() if check else result

    async def start(self, command: str, *, cwd: Optional[operations.StrPath] = None,
                    env: Optional[Mapping[str, str]] = None,
                    timeout_ms: Optional[float] = None, account: Optional[str] = None) -> CommandHandle:
        """Starts a command and talks with it; see `cloche.Commands.start`."""
        loop, changed = asyncio.get_running_loop(), asyncio.Event()

        def tell() -> None:
            try:
                loop.call_soon_threadsafe(changed.set)
            except RuntimeError:
                pass  # the loop is closed: nobody waits

        output = _live.LiveOutput(tell)
        params = _live.start_params(command, cwd, env, timeout_ms, account)
        request = await self._link.submit_async("command.start", params, command=output)
        try:
            reply = await answer_of(request)
        except BaseException:
            _kill_started(self._link, request.future)
            raise
        return CommandHandle(self._link, reply["command"], output, changed, self._sandbox)

    async def serve(self, functions: CallbackSet) -> None:
        """Functions of this process are programs of the sandbox; see `cloche.Commands.serve`. Coroutine
        functions run in this loop."""
        answerer = HostCommands(functions, asyncio.get_running_loop())
        await self._link.ask("commands.set", {"commands": answerer.descriptions})
        self._link.server.serve_commands(self._link.sandbox_id, answerer)

    async def history(self) -> List[HistoryEntry]:
        """The commands that were run, the oldest first."""
        return await self._link.perform_async(operations.history())


class Files(_Part):
    """Files of the sandbox. See `cloche.Files`."""

    async def write(self, path: operations.StrPath, data: Data, *, mode: Optional[int] = None,
                    append: bool = False) -> None:
        """Makes or overwrites a file."""
        await self._link.perform_async(operations.write(path, data, mode, append))

    async def read(self, path: operations.StrPath, *, offset: int = 0, length: Optional[int] = None) -> bytes:
        """The bytes of a file, or some of them."""
        return await self._link.perform_async(operations.read(path, offset, length))

    async def read_text(self, path: operations.StrPath, *, encoding: str = "utf-8", errors: str = "strict") -> str:
        """The text of a file."""
        return (await self.read(path)).decode(encoding, errors)

    async def list(self, path: operations.StrPath = ".") -> List[FileInfo]:
        """What is in a folder, by name."""
        return await self._link.perform_async(operations.list_folder(path))

    async def list_details(self, path: operations.StrPath = ".") -> List[FileDetails]:
        """The same with modes, times and symbolic links."""
        return await self._link.perform_async(operations.list_details(path))

    async def stat(self, path: operations.StrPath) -> FileInfo:
        """What is at a path."""
        return await self._link.perform_async(operations.stat(path))

    async def lstat(self, path: operations.StrPath) -> FileDetails:
        """All about what is at a path, a symbolic link itself included."""
        return await self._link.perform_async(operations.lstat(path))

    async def exists(self, path: operations.StrPath) -> bool:
        """Whether there is anything at a path."""
        return await self._link.perform_async(operations.exists(path))

    async def mkdir(self, path: operations.StrPath, *, parents: bool = False, exist_ok: bool = False) -> None:
        """Makes a folder."""
        await self._link.perform_async(operations.mkdir(path, parents, exist_ok))

    async def rm(self, path: operations.StrPath, *, recursive: bool = False) -> None:
        """Removes a file, a link, or a folder."""
        await self._link.perform_async(operations.simple("files.rm", path=path, recursive=recursive))

    async def rename(self, old: operations.StrPath, new: operations.StrPath) -> None:
        """Moves a file or folder."""
        await self._link.perform_async(operations.simple("files.rename", **{"from": old, "to": new}))

    async def glob(self, pattern: str) -> List[str]:
        """Paths that match."""
        return await self._link.perform_async(operations.glob(pattern))

    async def chmod(self, path: operations.StrPath, mode: int) -> None:
        """Sets permission bits."""
        await self._link.perform_async(operations.simple("files.chmod", path=path, mode=mode))

    async def symlink(self, target: operations.StrPath, path: operations.StrPath) -> None:
        """Makes a symbolic link at `path` that leads to `target`."""
        await self._link.perform_async(operations.simple("files.symlink", target=target, path=path))

    async def upload(self, local: operations.StrPath, remote: operations.StrPath) -> None:
        """Copies a file or a folder of this machine into the sandbox."""
        await self._link.perform_async(operations.upload(local, remote))

    async def download(self, remote: operations.StrPath, local: operations.StrPath) -> None:
        """Copies a file or a folder out of the sandbox."""
        await self._link.perform_async(operations.download(remote, local))


class Environment(_Part):
    """Variables of the commands that follow."""

    async def set(self, name: str, value: str) -> None:
        """Sets a variable."""
        await self._link.perform_async(operations.simple("env.set", name=name, value=value))

    async def get(self, name: str, default: Optional[str] = None) -> Optional[str]:
        """The value of a variable, or `default`."""
        value = await self._link.perform_async(operations.env_get(name))
        return default if value is None else value

    async def all(self) -> dict[str, str]:
        """All variables."""
        return await self._link.perform_async(operations.env_all())


class Python(_Part):
    """The sandbox's Python. See `cloche.Python`."""

    async def execute(self, code: str, *, timeout_ms: Optional[float] = None,
                      on_stdout: Optional[OnOutput] = None, on_stderr: Optional[OnOutput] = None,
                      callbacks: Optional[CallbackSet] = None, check: bool = False,
                      figures: bool = True) -> PythonResult:
        """Runs code; the callbacks may be coroutine functions, and run in this loop."""
        params: dict[str, Any] = {"code": code, "detail": True, "figures": figures}
        if timeout_ms is not None:
            params["timeoutMs"] = timeout_ms
        if on_stdout is not None or on_stderr is not None:
            params["stream"] = True
        answer = None
        if callbacks is not None:
            handlers = Callbacks(callbacks, self._link.sandbox_id, asyncio.get_running_loop())
            params["callbacks"], answer = handlers.descriptions, handlers.answer
        result = python_result(
            *await self._link.stream_async("python.execute", params, on_stdout, on_stderr, None, answer))
        if check:
            result.check()
        return result


class PackageSet(_Part):
    """Python packages of the sandbox."""

    async def install(self, *names: Union[str, Sequence[str]]) -> None:
        """Makes packages importable, with what they depend on."""
        flat = [n for name in names for n in ([name] if isinstance(name, str) else names_of(name, "packages"))]
        await self._link.perform_async(operations.install(flat))

    async def list(self) -> Packages:
        """Which are installed, and which could be."""
        return await self._link.perform_async(operations.packages())


class Snapshot:
    """A moment of a sandbox."""

    def __init__(self, link: AsyncLink, snapshot_id: str) -> None:
        self._link = link
        self.id = snapshot_id

    async def restore(self) -> None:
        """Takes the sandbox back to this moment; what runs in it ends."""
        await self._link.perform_async(operations.simple("snapshot.restore", id=self.id))

    async def delete(self) -> None:
        """Forgets the moment."""
        await self._link.perform_async(operations.simple("snapshot.remove", id=self.id))


async def _held(acquire: Callable[[], _server.Server]) -> _server.Server:
    """A server that this process holds now; who is cancelled meanwhile holds none."""
    acquired: "Future[_server.Server]" = Future()

    def work() -> None:
        try:
            acquired.set_result(acquire())
        except BaseException as error:
            acquired.set_exception(error)

    def give_back(done: "Future[_server.Server]") -> None:
        if done.exception() is None:
            _servers.release(done.result(), wait=False)

    try:
        await asyncio.get_running_loop().run_in_executor(None, work)
    except BaseException:
        acquired.add_done_callback(give_back)
        raise
    return acquired.result()


async def _made(server: _server.Server, submit: Callable[[], Awaitable[_server.Request]]) -> str:
    """The name of the sandbox that a request makes. The server is held for it, and given back where there is none."""
    request = None
    try:
        request = await submit()
        return str((await answer_of(request))["sandboxId"])
    except BaseException as error:
        if request is None or isinstance(error, SandboxError):
            await asyncio.get_running_loop().run_in_executor(None, _servers.release, server)
        else:
            request.cancel()
            _forget_made(server, request.future)
        raise


class Sandbox:
    """A private computer. Made by `await Sandbox.create(...)`, or by `async with Sandbox(...)`; the
    arguments are those of `cloche.Sandbox`."""

    def __init__(self, *, timeout_ms: operations.Amount = 30_000,
                 fs_limit_bytes: operations.Amount = 256 * 1024 * 1024,
                 packages: Iterable[str] = (), env: Optional[Mapping[str, str]] = None,
                 mounts: Iterable[Union[Mount, Tuple[Any, ...]]] = (), network: Any = None,
                 image: Optional[operations.StrPath] = None, wasm_dir: Optional[operations.StrPath] = None,
                 limits: Optional[Mapping[str, operations.Amount]] = None, engine: Optional[str] = None,
                 isolation: Optional[str] = None, user: Optional[str] = None, url: Optional[str] = None,
                 token: Optional[str] = None, session_id: Optional[str] = None, ttl: Optional[int] = None,
                 metadata: Optional[Mapping[str, Any]] = None,
                 commands: Optional[CallbackSet] = None) -> None:
        self._commands = commands
        self._params = operations.create_params(timeout_ms, fs_limit_bytes, packages, env, mounts, network,
                                         image, wasm_dir, limits, engine, user, isolation)
        if url is None:
            operations.refuse_remote(token=token, session_id=session_id, ttl=ttl, metadata=metadata)
        else:
            self._params = operations.remote_params(self._params, session_id, ttl, metadata)
        self._url, self._token = url, token
        self._link: Optional[AsyncLink] = None

    @classmethod
    async def create(cls, **options: Any) -> "Sandbox":
        """A sandbox that is ready."""
        sandbox = cls(**options)
        await sandbox._start()
        return sandbox

    async def _start(self) -> None:
        if self._link is not None:
            return
        loop = asyncio.get_running_loop()
        answerer = HostCommands(self._commands, loop) if self._commands is not None else None
        params = {**self._params, "commands": answerer.descriptions} if answerer is not None else self._params
        server = await _held(self._acquire)

        async def create() -> _server.Request:
            return server.submit("sandbox.create", params)

        sandbox_id = await _made(server, create)
        server.serve_commands(sandbox_id, answerer)
        self._attach(AsyncLink(server, sandbox_id))

    def _acquire(self) -> _server.Server:
        return _servers.acquire() if self._url is None else _servers.connect(self._url, self._token)

    def _attach(self, link: AsyncLink) -> None:
        self._link = link
        self._finalizer = weakref.finalize(self, _drop, link)

    def _there(self) -> AsyncLink:
        if self._link is None:
            raise ServerError("the sandbox is not there yet: await Sandbox.create(), or use async with")
        return self._link

    @property
    def commands(self) -> Commands:
        """Shell commands."""
        return Commands(self._there(), self)

    @property
    def files(self) -> Files:
        """Files."""
        return Files(self._there(), self)

    @property
    def env(self) -> Environment:
        """Variables of the commands that follow."""
        return Environment(self._there(), self)

    @property
    def python(self) -> Python:
        """The Python that stays."""
        return Python(self._there(), self)

    @property
    def packages(self) -> PackageSet:
        """Python packages."""
        return PackageSet(self._there(), self)

    @property
    def id(self) -> str:
        """The sandbox's name at the server."""
        return self._there().sandbox_id

    @property
    def session_id(self) -> Optional[str]:
        """Of a server: the session that it is."""
        link = self._there()
        return link.server.session_of(link.sandbox_id)

    @property
    def is_alive(self) -> bool:
        """Whether it can be used."""
        return self._link is not None and self._link.open and self._link.server.has(self._link.sandbox_id)

    async def fork(self) -> "Sandbox":
        """An independent sandbox that goes on from here."""
        link = self._there()
        _servers.retain(link.server)
        sandbox_id = await _made(link.server, lambda: link.submit_async("sandbox.fork", {}))
        link.server.serve_commands(sandbox_id, link.server.answerer_of(link.sandbox_id))
        twin = object.__new__(Sandbox)
        twin._params, twin._url, twin._token = self._params, self._url, self._token
        twin._commands = self._commands
        twin._attach(AsyncLink(link.server, sandbox_id))
        return twin

    async def snapshot(self) -> Snapshot:
        """Remembers this moment."""
        link = self._there()
        return Snapshot(link, await link.perform_async(operations.create_snapshot()))

    async def restore(self, snapshot: Snapshot) -> None:
        """Takes the sandbox back to a moment."""
        if not isinstance(snapshot, Snapshot):
            raise SandboxArgumentError("restore takes what snapshot() gave")
        if snapshot._link is not self._there():
            raise SandboxArgumentError("that is a moment of another sandbox")
        await snapshot.restore()

    async def export(self, path: Optional[operations.StrPath] = None) -> Optional[bytes]:
        """Files, environment and packages as bytes, or as a file of this machine."""
        return await self._there().perform_async(operations.export(path))

    async def load(self, state: Union[operations.StrPath, bytes]) -> None:
        """Replaces the sandbox's state by one that `export` gave."""
        await self._there().perform_async(operations.import_state(state))

    async def cancel(self) -> None:
        """Ends the calls that are in progress, with all that they have started, and takes back those that wait."""
        await self._there().ask("cancel", {})

    async def usage(self) -> Usage:
        """What the sandbox uses now."""
        return await self._there().perform_async(operations.usage())

    async def kill(self) -> None:
        """Ends the sandbox and all that runs in it. A second time does nothing."""
        link = self._link
        if link is None or not link.open or self._finalizer.detach() is None:  # that is somebody for one caller alone
            return
        link.open = False
        try:
            request = link.server.submit("sandbox.destroy", {"sandboxId": link.sandbox_id})
            await asyncio.wrap_future(request.future)
        except SandboxError:
            pass  # the server has ended, and the sandbox with it
        finally:
            link.server.serve_commands(link.sandbox_id, None)
            await asyncio.get_running_loop().run_in_executor(None, _servers.release, link.server)

    close = kill

    async def __aenter__(self) -> "Sandbox":
        await self._start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.kill()

    def __repr__(self) -> str:
        name = self._link.sandbox_id if self._link is not None else "not started"
        return f"<aio.Sandbox {name}, {'ready' if self.is_alive else 'not running'}>"
