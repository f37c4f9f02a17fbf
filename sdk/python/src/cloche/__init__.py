# SPDX-License-Identifier: Apache-2.0
"""Cloche: private computers for agents, from Python.

    from cloche import Sandbox

    with Sandbox(packages=["numpy"]) as sbx:
        result = sbx.commands.run("echo hello | tr a-z A-Z")
        print(result.stdout)                      # HELLO
        sbx.python.execute("import numpy as np; print(np.arange(3))").stdout

`cloche.aio` has the same for asyncio.
"""
from ._errors import (CancelledError, CommandError, ConnectionLostError, SandboxArgumentError, SandboxError,
                      SandboxFileExistsError, SandboxFileNotFoundError, SandboxFullError,
                      SandboxIsADirectoryError, SandboxNotADirectoryError, SandboxPermissionError,
                      SandboxValueError, ServerError)
from ._types import (CommandResult, Figure, FileDetails, FileInfo, HistoryEntry, Mount, Packages,
                     PythonResult, Usage)
from ._version import __version__
from .sandbox import Commands, Environment, Files, PackageSet, Python, Sandbox, Snapshot

__all__ = [
    "CancelledError", "CommandError", "CommandResult", "Commands", "ConnectionLostError", "Environment", "Figure",
    "FileDetails", "FileInfo", "Files", "HistoryEntry", "Mount", "PackageSet", "Packages", "Python",
    "PythonResult", "Sandbox", "SandboxArgumentError", "SandboxError", "SandboxFileExistsError",
    "SandboxFileNotFoundError", "SandboxFullError", "SandboxIsADirectoryError", "SandboxNotADirectoryError",
    "SandboxPermissionError", "SandboxValueError", "ServerError", "Snapshot", "Usage", "__version__",
]
