# SPDX-License-Identifier: Apache-2.0
"""Cloche: private computers for agents, from Python.

    from cloche import Sandbox

    with Sandbox(packages=["numpy"]) as sbx:
        result = sbx.commands.run("echo hello | tr a-z A-Z")
        print(result.stdout)                      # HELLO
        sbx.python.execute("import numpy as np; print(np.arange(3))").stdout

`cloche.aio` has the same for asyncio.
"""
from ._errors import (CancelledError, CommandError, ConnectionLostError, ExecutionCancelledError, ExecutionError,
                      ExecutionLimitError, ExecutionTimeoutError, InterpreterEndedError, PoolFull, SandboxArgumentError,
                      SandboxBrokenPipeError, SandboxError, SandboxFileExistsError, SandboxFileNotFoundError,
                      SandboxFullError,
                      SandboxIsADirectoryError, SandboxLost, SandboxNotADirectoryError, SandboxPermissionError,
                      SandboxValueError, ServerError)
from ._execution import PythonState
from ._live import OutputChunk
from ._results import ExecutionResult, Figure
from ._types import (CommandResult, FileDetails, FileInfo, HistoryEntry, Mount, Packages,
                     PythonResult, TraceEvent, Usage)
from ._version import __version__
from .command_call import CommandCall, CommandOutput
from .command_handle import CommandHandle
from .parallel import map_sandboxes
from .python_session import PythonSession
from .sandbox import Commands, Environment, Files, PackageSet, Python, Sandbox, Snapshot

__all__ = [
    "CancelledError", "CommandCall", "CommandHandle", "CommandError", "CommandOutput", "CommandResult", "Commands", "ConnectionLostError", "Environment",
    "ExecutionCancelledError", "ExecutionError", "ExecutionLimitError", "ExecutionResult",
    "ExecutionTimeoutError", "Figure", "FileDetails", "FileInfo", "Files", "HistoryEntry",
    "InterpreterEndedError", "Mount", "OutputChunk", "PackageSet", "Packages", "PoolFull", "Python", "PythonResult", "PythonSession",
    "PythonState", "Sandbox", "SandboxArgumentError", "SandboxBrokenPipeError", "SandboxError", "SandboxFileExistsError",
    "SandboxFileNotFoundError", "SandboxFullError", "SandboxIsADirectoryError", "SandboxLost", "SandboxNotADirectoryError",
    "SandboxPermissionError", "SandboxValueError", "ServerError", "Snapshot", "TraceEvent", "Usage",
    "__version__", "map_sandboxes",
]
