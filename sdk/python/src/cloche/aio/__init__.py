# SPDX-License-Identifier: Apache-2.0
"""The API for asyncio: the same as that of `cloche`, awaited.

    async with await cloche.aio.Sandbox.create() as sbx:
        result = await sbx.commands.run("echo hello")

Cancelling a task cancels what it waits for in the sandbox.
"""
from .._async_call import CommandCall, CommandInput, CommandOutput
from .command_handle import CommandHandle
from .parallel import map_sandboxes
from .python_session import PythonSession
from .sandbox import Commands, Environment, Files, PackageSet, Python, Sandbox, Snapshot

__all__ = ["CommandCall", "CommandHandle", "CommandInput", "CommandOutput", "Commands", "Environment", "Files", "PackageSet", "Python", "PythonSession", "Sandbox", "Snapshot",
           "map_sandboxes"]
