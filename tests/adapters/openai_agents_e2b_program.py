# SPDX-License-Identifier: Apache-2.0
"""The OpenAI Agents SDK's sandbox agent with the SDK's own provider for E2B. It knows nothing of this server."""
import asyncio
import os
from pathlib import Path

from agents import RunConfig, Runner
from agents.extensions.sandbox.e2b import E2BSandboxClient, E2BSandboxClientOptions
from agents.sandbox import Manifest, SandboxAgent, SandboxRunConfig
from agents.sandbox.entries import File
from agents.testing import ScriptedModel, assistant_message, function_call


async def main():
    model = ScriptedModel([[function_call("exec_command", {"cmd": "cat note.txt; echo more > made.txt"}, call_id="1")],
                           [assistant_message("done")]])
    session = await E2BSandboxClient().create(
        manifest=Manifest(root="/home/user/work", entries={"note.txt": File(content=b"a note\n")}),
        options=E2BSandboxClientOptions(sandbox_type="e2b", timeout=300))
    async with session:
        result = await Runner.run(SandboxAgent(name="it", model=model), "do it",
                                  run_config=RunConfig(sandbox=SandboxRunConfig(session=session), tracing_disabled=True))
        assert result.final_output == "done", result
        assert "a note" in str(model.last_call.input), model.last_call
        assert (await session.read(Path("made.txt"))).read() == b"more\n"


asyncio.run(main())
print("done", flush=True)
# A thread of pyqwest, the HTTP library of E2B's client, now and then aborts the interpreter on its way out.
os._exit(0)
