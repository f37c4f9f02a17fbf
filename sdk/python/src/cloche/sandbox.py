# SPDX-License-Identifier: Apache-2.0
"""The API that waits."""
from __future__ import annotations

import weakref
from concurrent.futures import Future
from typing import Any, Callable, Iterable, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

from . import _live
from . import _operations as operations
from . import _server, _servers
from ._callbacks import Callbacks, CallbackSet
from ._errors import SandboxArgumentError, SandboxError
from ._given import names_of, variables
from ._host_commands import HostCommands
from ._link import Link, OnOutput
from ._types import (CommandResult, FileDetails, FileInfo, HistoryEntry, Mount, Packages, PythonResult,
                     Usage, command_result, python_result)
from .command_handle import CommandHandle

Data = Union[str, bytes, bytearray, memoryview]


class _Part:
    """One part of a sandbox's API. Who has it has the sandbox, which ends when nobody does."""

    def __init__(self, link: Link, sandbox: object) -> None:
        self._link = link
        self._sandbox = sandbox

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of sandbox {self._link.sandbox_id}>"


class Commands(_Part):
    """Shell commands."""

    def run(self, command: str, *, on_stdout: Optional[OnOutput] = None,
            on_stderr: Optional[OnOutput] = None, timeout_ms: Optional[float] = None,
            cwd: Optional[operations.StrPath] = None, env: Optional[Mapping[str, str]] = None,
            stdin: Optional[Data] = None, check: bool = False) -> CommandResult:
        """Runs a command in the sandbox's shell and waits for its end.

        Directory, variables, functions and options of the shell last from command to command.

        Args:
            on_stdout, on_stderr: called with text as it is printed, on this thread.
            timeout_ms: wall clock of this command; the sandbox's when absent, 0 for none. A command
                over its time ends with exit code 124.
            cwd: the directory to go to first.
            env: variables for this command only.
            stdin: what the command reads.
            check: raise `CommandError` when the exit code is not 0.
        """
        stream = on_stdout is not None or on_stderr is not None
        params = operations.run_params(command, timeout_ms, cwd, env, stdin, stream)
        result = command_result(*self._link.stream("run", params, on_stdout, on_stderr))
        return result.check() if check else result

    def start(self, command: str, *, cwd: Optional[operations.StrPath] = None,
              env: Optional[Mapping[str, str]] = None,
              timeout_ms: Optional[float] = None, account: Optional[str] = None) -> CommandHandle:
        """Starts a command in a shell of its own, beside what else the sandbox does, and talks with it.

        Args:
            timeout_ms: wall clock; none when absent.
            account: "user", or "root": that of the sandbox, whom no permission of a file stops.
        """
        output = _live.LiveOutput()
        params = _live.start_params(command, cwd, env, timeout_ms, account)
        request = self._link.submit("command.start", params, command=output)
        try:
            reply = request.result()
        except BaseException:
            _kill_started(self._link, request.future)
            raise
        return CommandHandle(self._link, reply["command"], output, self._sandbox)

    def serve(self, functions: CallbackSet) -> None:
        """From now on these functions of this process are programs of the sandbox, instead of those that
        it was given before; see `commands` of `Sandbox`."""
        answerer = HostCommands(functions)
        self._link.submit("commands.set", {"commands": answerer.descriptions}).result()
        self._link.server.serve_commands(self._link.sandbox_id, answerer)

    def history(self) -> list[HistoryEntry]:
        """The commands that were run, the oldest first."""
        return self._link.perform(operations.history())


class Files(_Part):
    """Files of the sandbox. Relative paths start in /workspace."""

    def write(self, path: operations.StrPath, data: Data, *, mode: Optional[int] = None,
              append: bool = False) -> None:
        """Makes or overwrites a file, and the folders that lead to it. Text is written as UTF-8."""
        self._link.perform(operations.write(path, data, mode, append))

    def read(self, path: operations.StrPath, *, offset: int = 0, length: Optional[int] = None) -> bytes:
        """The bytes of a file, or some of them."""
        return self._link.perform(operations.read(path, offset, length))

    def read_text(self, path: operations.StrPath, *, encoding: str = "utf-8", errors: str = "strict") -> str:
        """The text of a file."""
        return self.read(path).decode(encoding, errors)

    def list(self, path: operations.StrPath = ".") -> List[FileInfo]:
        """What is in a folder, by name."""
        return self._link.perform(operations.list_folder(path))

    def list_details(self, path: operations.StrPath = ".") -> List[FileDetails]:
        """The same with modes, times and symbolic links."""
        return self._link.perform(operations.list_details(path))

    def stat(self, path: operations.StrPath) -> FileInfo:
        """What is at a path."""
        return self._link.perform(operations.stat(path))

    def lstat(self, path: operations.StrPath) -> FileDetails:
        """All about what is at a path, a symbolic link itself included."""
        return self._link.perform(operations.lstat(path))

    def exists(self, path: operations.StrPath) -> bool:
        """Whether there is anything at a path."""
        return self._link.perform(operations.exists(path))

    def mkdir(self, path: operations.StrPath, *, parents: bool = False, exist_ok: bool = False) -> None:
        """Makes a folder."""
        self._link.perform(operations.mkdir(path, parents, exist_ok))

    def rm(self, path: operations.StrPath, *, recursive: bool = False) -> None:
        """Removes a file, a link, or a folder: an empty one, or with all that is in it."""
        self._link.perform(operations.simple("files.rm", path=path, recursive=recursive))

    def rename(self, old: operations.StrPath, new: operations.StrPath) -> None:
        """Moves a file or folder."""
        self._link.perform(operations.simple("files.rename", **{"from": old, "to": new}))

    def glob(self, pattern: str) -> List[str]:
        """Paths that match: `*`, `?`, `[...]`, and `**` for any number of folders; sorted."""
        return self._link.perform(operations.glob(pattern))

    def chmod(self, path: operations.StrPath, mode: int) -> None:
        """Sets permission bits."""
        self._link.perform(operations.simple("files.chmod", path=path, mode=mode))

    def symlink(self, target: operations.StrPath, path: operations.StrPath) -> None:
        """Makes a symbolic link at `path` that leads to `target`."""
        self._link.perform(operations.simple("files.symlink", target=target, path=path))

    def upload(self, local: operations.StrPath, remote: operations.StrPath) -> None:
        """Copies a file or a folder of this machine into the sandbox."""
        self._link.perform(operations.upload(local, remote))

    def download(self, remote: operations.StrPath, local: operations.StrPath) -> None:
        """Copies a file or a folder out of the sandbox. Links that lead out of it are left out."""
        self._link.perform(operations.download(remote, local))


class Environment(_Part):
    """Variables of the commands that follow, as a mapping; what commands have exported is there too."""

    def set(self, name: str, value: str) -> None:
        """Sets a variable."""
        self._link.perform(operations.simple("env.set", name=name, value=value))

    def get(self, name: str, default: Optional[str] = None) -> Optional[str]:
        """The value of a variable, or `default`."""
        value = self._link.perform(operations.env_get(name))
        return default if value is None else value

    def __getitem__(self, name: str) -> str:
        value = self.get(name)
        if value is None:
            raise KeyError(name)
        return value

    def __setitem__(self, name: str, value: str) -> None:
        self.set(name, value)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.get(name) is not None

    def __iter__(self) -> Iterator[str]:
        return iter(self.all())

    def __len__(self) -> int:
        return len(self.all())

    def keys(self) -> List[str]:
        """The names of all variables."""
        return list(self.all())

    def all(self) -> dict[str, str]:
        """All variables."""
        return self._link.perform(operations.env_all())

    def update(self, values: Mapping[str, str]) -> None:
        """Sets several variables."""
        for name, value in variables(values).items():
            self.set(name, value)


class Python(_Part):
    """The sandbox's Python, which stays: names and imports last from call to call."""

    def execute(self, code: str, *, timeout_ms: Optional[float] = None,
                on_stdout: Optional[OnOutput] = None, on_stderr: Optional[OnOutput] = None,
                callbacks: Optional[CallbackSet] = None, check: bool = False,
                figures: bool = True) -> PythonResult:
        """Runs code and waits for its end. An exception is printed to `stderr`, exit code 1.

        Args:
            callbacks: functions of this process that the code can call by name, as
                `await name(key=value)`; a mapping from names, or an iterable of functions.
            figures: collect what matplotlib drew, as `result.figures`.
        """
        params: dict[str, Any] = {"code": code, "detail": True, "figures": figures}
        if timeout_ms is not None:
            params["timeoutMs"] = timeout_ms
        if on_stdout is not None or on_stderr is not None:
            params["stream"] = True
        answer = None
        if callbacks is not None:
            handlers = Callbacks(callbacks, self._link.sandbox_id)
            params["callbacks"], answer = handlers.descriptions, handlers.answer
        result = python_result(*self._link.stream("python.execute", params, on_stdout, on_stderr, None, answer))
        if check:
            result.check()
        return result


class PackageSet(_Part):
    """Python packages of the sandbox."""

    def install(self, *names: Union[str, Sequence[str]]) -> None:
        """Makes packages importable, with what they depend on."""
        flat = [n for name in names for n in ([name] if isinstance(name, str) else names_of(name, "packages"))]
        self._link.perform(operations.install(flat))

    def list(self) -> Packages:
        """Which are installed, and which could be."""
        return self._link.perform(operations.packages())


class Snapshot:
    """A moment of a sandbox: files, environment, packages, the shell and a live Python."""

    def __init__(self, link: Link, snapshot_id: str) -> None:
        self._link = link
        self.id = snapshot_id

    def restore(self) -> None:
        """Takes the sandbox back to this moment; what runs in it ends."""
        self._link.perform(operations.simple("snapshot.restore", id=self.id))

    def delete(self) -> None:
        """Forgets the moment."""
        self._link.perform(operations.simple("snapshot.remove", id=self.id))

    def __repr__(self) -> str:
        return f"<Snapshot {self.id} of sandbox {self._link.sandbox_id}>"


def _kill_started(link: Link, started: "Future[Any]") -> None:
    """For who waits no more for a command to start: where it starts nevertheless, it is killed."""
    def kill(number: int) -> None:
        link.submit("command.kill", {"command": number, "signal": 9})

    def tell(done: "Future[Any]") -> None:
        if not done.cancelled() and done.exception() is None:
            _servers.later(lambda: kill(done.result()["command"]))

    started.add_done_callback(tell)


def _forget_made(server: _server.Server, made: "Future[Any]") -> None:
    """For who waits no more for a sandbox to be made: where it is made nevertheless, it ends; the server is given back."""
    def tell(done: "Future[Any]") -> None:
        if done.cancelled() or done.exception() is not None:
            _servers.later(lambda: _servers.release(server, wait=False))
        else:
            _servers.later(lambda: _end(Link(server, done.result()["sandboxId"])))

    made.add_done_callback(tell)


def _made(server: _server.Server, submit: Callable[[], _server.Request]) -> str:
    """The name of the sandbox that a request makes. The server is held for it, and given back where there is none."""
    request = None
    try:
        request = submit()
        return str(request.result()["sandboxId"])
    except BaseException as error:
        if request is None or isinstance(error, SandboxError):
            _servers.release(server)
        else:
            _forget_made(server, request.future)
        raise


def _drop(link: Link) -> None:
    """For a sandbox that nobody refers to any more."""
    if link.open:
        link.open = False
        _servers.later(lambda: _end(link))


def _end(link: Link) -> None:
    try:
        link.server.submit("sandbox.destroy", {"sandboxId": link.sandbox_id})
    except SandboxError:
        pass
    link.server.serve_commands(link.sandbox_id, None)
    _servers.release(link.server, wait=False)


class Sandbox:
    """A private computer: a shell, tools, Python, files. Nothing of this machine shows in it.

    All sandboxes of a process share one server process, which starts with the first one and ends
    with the last one. Thread-safe; calls on one sandbox queue.

    Args:
        timeout_ms: wall clock of one command, in milliseconds or as "30s"; 0 for none.
        fs_limit_bytes: what its files may take, in bytes or as "512m".
        packages: Python packages to install.
        env: variables of its commands.
        mounts: folders and files of this machine in it: `Mount(host, guest, read_only)`, or such tuples.
        network: what it may reach; nothing when absent.
        image: a file to go on from: one that `export` wrote, or one of `cloche image build`, from which
            Python starts with all that was imported there. With `engine="linux"` the name of an image of
            `cloche image list`.
        wasm_dir: a folder of programs: NAME.wasm is the command NAME.
        limits: `memory_bytes`, `cpus`, `processes`, `files`, `open_files`.
        engine: "wasm", or "linux": any Linux program, behind namespaces of this machine's kernel.
        isolation: with `engine="linux"` "full", or "gvisor": with a kernel of its own in between, for hostile
            tenants.
        user: what its user is called; with `engine="linux"` a number, ID or ID:ID.
        commands: functions of this process that are programs in it, by name, or an iterable of functions.
            One with a single parameter that has no type is given a `CommandCall`, with arguments and
            streams; of any other the arguments are read as its signature names them. Text and bytes that
            it returns or yields are printed, an int is the exit code, anything else is printed as JSON;
            what it raises goes to standard error. Its docstring is `--help`.
        url: of a server (`cloche serve`): the sandbox is a session there. A connection that is lost is
            made anew; what was on its way raises `ConnectionLostError`, unless it only reads.
        token: of that server.
        session_id: attaches to a session that is there, instead of making one; `kill` lets go of it.
        ttl: how long a new session lives, in seconds.
        metadata: of a new session, told back to whoever lists it.

    Raises:
        RuntimeError: the server cannot be started, or refuses; the message says why.
    """

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
        answerer = HostCommands(commands) if commands is not None else None
        params = operations.create_params(timeout_ms, fs_limit_bytes, packages, env, mounts, network, image,
                                   wasm_dir, limits, engine, user, isolation)
        if answerer is not None:
            params["commands"] = answerer.descriptions
        if url is None:
            operations.refuse_remote(token=token, session_id=session_id, ttl=ttl, metadata=metadata)
            server = _servers.acquire()
        else:
            params = operations.remote_params(params, session_id, ttl, metadata)
            server = _servers.connect(url, token)
        sandbox_id = _made(server, lambda: server.submit("sandbox.create", params))
        server.serve_commands(sandbox_id, answerer)
        self._attach(Link(server, sandbox_id))

    def _attach(self, link: Link) -> None:
        self._link = link
        self._finalizer = weakref.finalize(self, _drop, link)

    @property
    def commands(self) -> Commands:
        """Shell commands."""
        return Commands(self._link, self)

    @property
    def files(self) -> Files:
        """Files."""
        return Files(self._link, self)

    @property
    def env(self) -> Environment:
        """Variables of the commands that follow."""
        return Environment(self._link, self)

    @property
    def python(self) -> Python:
        """The Python that stays."""
        return Python(self._link, self)

    @property
    def packages(self) -> PackageSet:
        """Python packages."""
        return PackageSet(self._link, self)

    @property
    def id(self) -> str:
        """The sandbox's name at the server."""
        return self._link.sandbox_id

    @property
    def is_alive(self) -> bool:
        """Whether it can be used."""
        return self._link.open and self._link.server.has(self._link.sandbox_id)

    @property
    def session_id(self) -> Optional[str]:
        """Of a server: the session that it is, for `Sandbox(url=..., session_id=...)` elsewhere."""
        return self._link.server.session_of(self._link.sandbox_id)

    def fork(self) -> "Sandbox":
        """An independent sandbox that goes on from here: files, environment, packages, the shell and
        a live Python. Costs about a millisecond."""
        server = self._link.server
        _servers.retain(server)
        sandbox_id = _made(server, lambda: self._link.submit("sandbox.fork", {}))
        server.serve_commands(sandbox_id, server.answerer_of(self._link.sandbox_id))
        twin = object.__new__(Sandbox)
        twin._attach(Link(server, sandbox_id))
        return twin

    def snapshot(self) -> Snapshot:
        """Remembers this moment, to go back to with `restore`."""
        return Snapshot(self._link, self._link.perform(operations.create_snapshot()))

    def restore(self, snapshot: Snapshot) -> None:
        """Takes the sandbox back to a moment."""
        if not isinstance(snapshot, Snapshot):
            raise SandboxArgumentError("restore takes what snapshot() gave")
        if snapshot._link is not self._link:
            raise SandboxArgumentError("that is a moment of another sandbox")
        snapshot.restore()

    def export(self, path: Optional[operations.StrPath] = None) -> Optional[bytes]:
        """Files, environment and packages as bytes, or as a file of this machine. `Sandbox(image=...)`
        and `load` go on from it."""
        return self._link.perform(operations.export(path))

    def load(self, state: Union[operations.StrPath, bytes]) -> None:
        """Replaces the sandbox's state by one that `export` gave; what is damaged is refused."""
        self._link.perform(operations.import_state(state))

    def cancel(self) -> None:
        """Ends the calls that are in progress, with all that they have started, and takes back those that wait;
        from another thread. A live Python, background jobs and started commands go on."""
        self._link.submit("cancel", {}).result()

    def usage(self) -> Usage:
        """What the sandbox uses now."""
        return self._link.perform(operations.usage())

    def kill(self) -> None:
        """Ends the sandbox and all that runs in it. A second time does nothing."""
        if not self._link.open or self._finalizer.detach() is None:  # that is somebody for one caller alone
            return
        self._link.open = False
        try:
            self._link.server.call("sandbox.destroy", {"sandboxId": self._link.sandbox_id})
        except SandboxError:
            pass  # the server has ended, and the sandbox with it
        finally:
            self._link.server.serve_commands(self._link.sandbox_id, None)
            _servers.release(self._link.server)

    close = kill

    def __enter__(self) -> "Sandbox":
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def __repr__(self) -> str:
        state = "ready" if self.is_alive else "ended"
        return f"<Sandbox {self._link.sandbox_id}, {state}, server {self._link.server.pid}>"

    def __reduce__(self) -> Any:
        raise TypeError("a sandbox cannot be pickled: export() gives its state")
