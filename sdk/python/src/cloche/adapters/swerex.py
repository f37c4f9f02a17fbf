# SPDX-License-Identifier: Apache-2.0
"""SWE-ReX (SWE-agent): a deployment whose runtime is a sandbox.

    deployment = ClocheDeployment()
    await deployment.start()
    await deployment.runtime.create_session(CreateBashSessionRequest())

Sessions are shells that stay, without a terminal: interactive programs are refused. An interrupt ends the program that
runs; what comes after it in the same action goes on. Images are refused: a sandbox is not a container.
"""
from __future__ import annotations

import asyncio
import shlex
import uuid
from typing import Any, Dict, List, Optional, Union

from swerex.deployment.abstract import AbstractDeployment
from swerex.deployment.hooks.abstract import CombinedDeploymentHook, DeploymentHook
from swerex.exceptions import (BashIncorrectSyntaxError, CommandTimeoutError, DeploymentNotStartedError,
                               NonZeroExitCodeError, SessionDoesNotExistError, SessionExistsError,
                               SessionNotInitializedError)
from swerex.runtime.abstract import (AbstractRuntime, BashAction, BashInterruptAction, BashObservation,
                                     CloseBashSessionRequest, CloseBashSessionResponse, CloseResponse, Command,
                                     CommandResponse, CreateBashSessionRequest, CreateBashSessionResponse,
                                     IsAliveResponse, ReadFileRequest, ReadFileResponse, UploadRequest, UploadResponse,
                                     WriteFileRequest, WriteFileResponse)
from swerex.utils.log import get_logger

from .. import aio
from ._programs import run_script, script_of

_SIGINT = 2


class _BashSession:
    """A shell that stays. It is told a command on its input, and says on its output that it has come to its end."""

    def __init__(self, handle: aio.CommandHandle) -> None:
        self._handle = handle
        self._mark = f"end-of-command-{uuid.uuid4().hex}"
        self._chunks = handle.__aiter__()
        self._unread = ""
        self._reading: Optional["asyncio.Task[Any]"] = None
        self._owed = 0  # ends of commands that nobody has waited for

    async def run(self, command: str, timeout: Optional[float]) -> "tuple[str, int]":
        """Output and exit code; raises `CommandTimeoutError`, and the command goes on."""
        if not self._handle.is_running:
            raise SessionNotInitializedError("the shell of this session has ended")
        line = f"eval {shlex.quote(command)} < /dev/null; printf '\\n%s %d\\n' {self._mark} $?\n"
        await self._handle.write(line)
        self._owed += 1
        return await self.wait(timeout)

    async def wait(self, timeout: Optional[float]) -> "tuple[str, int]":
        """Until all commands have come to their end; what they printed, and the exit code of the last one."""
        deadline = None if timeout is None else asyncio.get_running_loop().time() + timeout
        output, code = "", 0
        while self._owed:
            before, found, after = self._unread.partition(f"\n{self._mark} ")
            number, ended, rest = after.partition("\n")
            if found and ended:
                output, code, self._unread = output + before, int(number), rest
                self._owed -= 1
            elif not await self._read(deadline, timeout):
                self._owed = 0
                return output + self._unread, (await self._handle.wait()).exit_code
        return output, code

    async def _read(self, deadline: Optional[float], timeout: Optional[float]) -> bool:
        """More of the output; False: the shell has ended."""
        if self._reading is None:
            self._reading = asyncio.ensure_future(self._next())
        left = None if deadline is None else deadline - asyncio.get_running_loop().time()
        # What is read when the time is over is there for the next one who waits.
        done, _ = await asyncio.wait({self._reading}, timeout=left)
        if not done:
            raise CommandTimeoutError(f"the command took longer than {timeout} seconds")
        text, self._reading = self._reading.result(), None
        if text is None:
            return False
        self._unread += text
        return True

    async def _next(self) -> Optional[str]:
        async for chunk in self._chunks:
            return chunk.text
        return None

    async def interrupt(self) -> None:
        await self._handle.kill(_SIGINT)

    async def close(self) -> None:
        if self._reading is not None:
            self._reading.cancel()
        await self._handle.kill()


class ClocheRuntime(AbstractRuntime):
    """A sandbox that is there."""

    def __init__(self, sandbox: aio.Sandbox, *, logger: Any = None) -> None:
        self.sandbox = sandbox
        self.logger = logger or get_logger("rex-runtime")
        self._sessions: Dict[str, _BashSession] = {}

    async def is_alive(self, *, timeout: Optional[float] = None) -> IsAliveResponse:
        alive = self.sandbox.is_alive
        return IsAliveResponse(is_alive=alive, message="" if alive else "the sandbox has ended")

    async def create_session(self, request: CreateBashSessionRequest) -> CreateBashSessionResponse:
        if request.session in self._sessions:
            raise SessionExistsError(f"session {request.session} already exists")
        handle = await self.sandbox.commands.start("exec bash --noprofile --norc 2>&1", cwd="/workspace")
        session = _BashSession(handle)
        # An interrupt is for the program that runs in it.
        setup = ["trap : INT", *(f"source {shlex.quote(path)}" for path in request.startup_source)]
        try:
            output, _ = await session.run("; ".join(setup), request.startup_timeout if len(setup) > 1 else None)
        except BaseException:
            await session.close()
            raise
        self._sessions[request.session] = session
        return CreateBashSessionResponse(output=output)

    def _session(self, name: str) -> _BashSession:
        if name not in self._sessions:
            raise SessionDoesNotExistError(f"session {name!r} does not exist")
        return self._sessions[name]

    async def run_in_session(self, action: Union[BashAction, BashInterruptAction]) -> BashObservation:
        session = self._session(action.session)
        if isinstance(action, BashInterruptAction):
            for _ in range(max(action.n_retry, 1)):
                await session.interrupt()
                try:
                    output, code = await session.wait(action.timeout)
                    return BashObservation(output=output, exit_code=code)
                except CommandTimeoutError:
                    continue
            raise CommandTimeoutError("what runs in the session goes on after it was interrupted")
        if action.is_interactive_command or action.is_interactive_quit or action.expect:
            raise NotImplementedError("sessions of a cloche sandbox have no terminal: interactive programs cannot run in "
                                      "them")
        check = await run_script(self.sandbox, "exec bash -n", input=action.command)
        if check.exit_code != 0:
            raise BashIncorrectSyntaxError(check.stderr, extra_info={"bash_stdout": check.stdout,
                                                                     "bash_stderr": check.stderr})
        output, code = await session.run(action.command, action.timeout)
        if action.check == "raise" and code != 0:
            why = f"Command {action.command!r} failed with exit code {code}. Here is the output:\n{output!r}"
            raise NonZeroExitCodeError(f"{action.error_msg}: {why}" if action.error_msg else why)
        return BashObservation(output=output, exit_code=None if action.check == "ignore" else code)

    async def close_session(self, request: CloseBashSessionRequest) -> CloseBashSessionResponse:
        await self._session(request.session).close()
        del self._sessions[request.session]
        return CloseBashSessionResponse()

    async def execute(self, command: Command) -> CommandResponse:
        words: Union[str, List[str]] = command.command
        script = words if isinstance(words, str) and command.shell else script_of(
            [words] if isinstance(words, str) else words)
        result = await run_script(self.sandbox, f"exec 2>&1\n{script}" if command.merge_output_streams else script,
                                  cwd=command.cwd, env=command.env, timeout=command.timeout)
        if result.status == "timedOut":
            raise CommandTimeoutError(f"Timeout ({command.timeout}s) exceeded while running command")
        if command.check and result.exit_code != 0:
            why = (f"Command {command.command!r} failed with exit code {result.exit_code}. Stdout:\n{result.stdout!r}\n"
                   f"Stderr:\n{result.stderr!r}")
            raise NonZeroExitCodeError(f"{command.error_msg}: {why}" if command.error_msg else why)
        return CommandResponse(stdout=result.stdout, stderr=result.stderr, exit_code=result.exit_code)

    async def read_file(self, request: ReadFileRequest) -> ReadFileResponse:
        data = await self.sandbox.files.read(request.path)
        return ReadFileResponse(content=data.decode(request.encoding or "utf-8", request.errors or "strict"))

    async def write_file(self, request: WriteFileRequest) -> WriteFileResponse:
        await self.sandbox.files.write(request.path, request.content)
        return WriteFileResponse()

    async def upload(self, request: UploadRequest) -> UploadResponse:
        await self.sandbox.files.upload(request.source_path, request.target_path)
        return UploadResponse()

    async def close(self) -> CloseResponse:
        for session in self._sessions.values():
            await session.close()
        self._sessions.clear()
        return CloseResponse()


class ClocheDeployment(AbstractDeployment):
    """A sandbox, from `start` to `stop`; the options are those of `cloche.Sandbox`."""

    _runtime: Optional[ClocheRuntime] = None

    def __init__(self, *, logger: Any = None, **options: Any) -> None:
        if "image" in options:
            raise ValueError("a cloche sandbox is no container: it starts from no image of one")
        self.logger = logger or get_logger("rex-deploy")
        self._options = options
        self._hooks = CombinedDeploymentHook()

    def add_hook(self, hook: DeploymentHook) -> None:
        self._hooks.add_hook(hook)

    @property
    def runtime(self) -> ClocheRuntime:
        if self._runtime is None:
            raise DeploymentNotStartedError()
        return self._runtime

    async def is_alive(self, *, timeout: Optional[float] = None) -> IsAliveResponse:
        return await self.runtime.is_alive(timeout=timeout)

    async def start(self, *_: Any, **__: Any) -> None:
        if self._runtime is None:
            self._hooks.on_custom_step("Starting sandbox")
            self._runtime = ClocheRuntime(await aio.Sandbox.create(timeout_ms=0, **self._options), logger=self.logger)

    async def stop(self, *_: Any, **__: Any) -> None:
        runtime, self._runtime = self._runtime, None
        if runtime is not None:
            await runtime.close()
            await runtime.sandbox.kill()
