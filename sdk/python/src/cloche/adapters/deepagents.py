# SPDX-License-Identifier: Apache-2.0
"""deepagents (LangChain): a backend whose files and commands are those of a sandbox.

    agent = create_deep_agent(model=model, backend=ClocheBackend())

Each command is a fresh shell; files stay.
"""
from __future__ import annotations

from typing import Any, List, Optional, Sequence, Tuple

from deepagents.backends.protocol import ExecuteResponse, FileDownloadResponse, FileUploadResponse
from deepagents.backends.sandbox import BaseSandbox

from .._errors import SandboxError, SandboxValueError
from ..sandbox import Sandbox

_TIMED_OUT = 124


def _error_of(error: SandboxError) -> str:
    if isinstance(error, (FileNotFoundError, NotADirectoryError)):
        return "file_not_found"
    if isinstance(error, PermissionError):
        return "permission_denied"
    if isinstance(error, IsADirectoryError):
        return "is_directory"
    return "invalid_path" if isinstance(error, SandboxValueError) else str(error)


class ClocheBackend(BaseSandbox):
    """A sandbox, which ends with `close` or with this object.

    Args:
        timeout: seconds of a command, where none is said with it.
        options: those of `cloche.Sandbox`; or `sandbox`, one that is there and is not ended.
    """

    def __init__(self, *, timeout: float = 120, sandbox: Optional[Sandbox] = None, **options: Any) -> None:
        if sandbox is not None and options:
            raise TypeError(f"{sorted(options)[0]} is of the sandbox: give it to the one that you give as sandbox")
        self._timeout = timeout
        self._owns = sandbox is None
        self.sandbox: Sandbox = Sandbox(timeout_ms=0, **options) if sandbox is None else sandbox

    @property
    def id(self) -> str:
        """Of a server: the session; otherwise the sandbox's name in this process."""
        return self.sandbox.session_id or self.sandbox.id

    def execute(self, command: str, *, timeout: Optional[int] = None) -> ExecuteResponse:
        """Runs a command; output and errors come as one text. Over its time the exit code is 124."""
        seconds = self._timeout if timeout is None else timeout
        with self.sandbox.commands.start(f"exec 2>&1\n{command}", cwd="/workspace",
                                         timeout_ms=seconds * 1000) as running:
            running.close_stdin()
            result = running.wait()
        output = result.stdout
        if result.exit_code == _TIMED_OUT and result.status == "timedOut":
            output += f"\nthe command took longer than {seconds} seconds, and was ended\n"
        return ExecuteResponse(output=output, exit_code=result.exit_code, truncated=result.truncated)

    def upload_files(self, files: Sequence[Tuple[str, bytes]]) -> List[FileUploadResponse]:
        """Writes files; of each it is said whether it went well."""
        answers = []
        for path, content in files:
            try:
                self._check(path)
                self.sandbox.files.write(path, content)
                answers.append(FileUploadResponse(path=path))
            except SandboxError as error:
                answers.append(FileUploadResponse(path=path, error=_error_of(error)))
        return answers

    def download_files(self, paths: Sequence[str]) -> List[FileDownloadResponse]:
        """Reads files; of each it is said whether it went well."""
        answers = []
        for path in paths:
            try:
                self._check(path)
                answers.append(FileDownloadResponse(path=path, content=self.sandbox.files.read(path)))
            except SandboxError as error:
                answers.append(FileDownloadResponse(path=path, error=_error_of(error)))
        return answers

    @staticmethod
    def _check(path: str) -> None:
        if not path.startswith("/"):
            raise SandboxValueError("a path is absolute", "EINVAL")

    def close(self) -> None:
        """Ends the sandbox, where it was made here. A second time does nothing."""
        if self._owns:
            self.sandbox.kill()
