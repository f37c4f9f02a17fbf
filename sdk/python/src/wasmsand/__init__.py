# SPDX-License-Identifier: Apache-2.0
"""The names of an older SDK: the same classes as in `cloche`."""
from cloche import (CancelledError, CommandError, CommandResult, Figure, FileDetails, FileInfo, Mount,
                    PythonResult, Sandbox, SandboxError, ServerError, Snapshot)

__all__ = ["CancelledError", "CommandError", "CommandResult", "Figure", "FileDetails", "FileInfo",
           "Mount", "PythonResult", "Sandbox", "SandboxError", "ServerError", "Snapshot"]
