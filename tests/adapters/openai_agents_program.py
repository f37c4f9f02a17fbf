# SPDX-License-Identifier: Apache-2.0
"""The OpenAI Agents SDK's sandbox agent with its scripted model, and sessions of its client."""
import asyncio
import io
import os
import tempfile
from pathlib import Path

from agents import RunConfig, Runner
from agents.sandbox import Manifest, SandboxAgent, SandboxRunConfig
from agents.sandbox.entries import File
from agents.sandbox.errors import ExecTimeoutError, WorkspaceReadNotFoundError
from agents.sandbox.snapshot import LocalSnapshotSpec
from agents.sandbox.types import User
from agents.testing import ScriptedModel, assistant_message, function_call

from cloche.adapters.openai_agents import ClocheSandboxClient, ClocheSandboxClientOptions

CLIENT = ClocheSandboxClient(token=os.environ.get("SERVER_TOKEN"))
OPTIONS = ClocheSandboxClientOptions(url=os.environ.get("SERVER_URL"), env=(("OWN", "value"),))


async def agent():
    model = ScriptedModel([[function_call("exec_command", {"cmd": "cat note.txt; echo more > made.txt; echo $OWN"}, call_id="1")],
                           [assistant_message("done")]])
    session = await CLIENT.create(manifest=Manifest(entries={"note.txt": File(content=b"a note\n")}), options=OPTIONS)
    async with session:
        result = await Runner.run(SandboxAgent(name="it", model=model), "do it",
                                  run_config=RunConfig(sandbox=SandboxRunConfig(session=session), tracing_disabled=True))
        assert result.final_output == "done", result
        output = str(model.last_call.input)
        assert "a note" in output and "value" in output, output
        assert (await session.read(Path("made.txt"))).read() == b"more\n"
    assert not await session.running()


async def session_works():
    session = await CLIENT.create(options=OPTIONS)
    async with session:
        assert await session.running()
        done = await session.exec("echo out; echo err >&2; exit 3")
        assert (done.stdout, done.stderr, done.exit_code) == (b"out\n", b"err\n", 3), done
        assert (await session.exec("pwd", "-P", shell=False)).stdout == b"/workspace\n"
        assert (await session.exec("id -u", user="root")).stdout == b"0\n"
        await session.write(Path("deep/er/f"), io.BytesIO(b"\x00\xff"))
        assert (await session.read(Path("/workspace/deep/er/f"))).read() == b"\x00\xff"
        await session.mkdir("new")
        assert {Path(each.path).name for each in await session.ls(".")} >= {"deep", "new"}
        await session.rm("deep", recursive=True)
        for wrong, problem in [(session.read(Path("deep/er/f")), WorkspaceReadNotFoundError),
                               (session.exec("sleep 100", timeout=0.5), ExecTimeoutError),
                               (session.exec("true", user="eve"), ValueError)]:
            try:
                await wrong
            except problem:
                continue
            raise AssertionError(f"no {problem.__name__}")


async def workspace_is_resumed():
    with tempfile.TemporaryDirectory() as folder:
        session = await CLIENT.create(snapshot=LocalSnapshotSpec(base_path=Path(folder)), options=OPTIONS)
        async with session:
            await session.write(Path("kept/f"), io.BytesIO(b"kept"))
            await session.exec("ln -s f kept/link; chmod 750 kept")
        state = CLIENT.deserialize_session_state(CLIENT.serialize_session_state(session.state))
        again = await CLIENT.resume(state)
        async with again:
            assert (await again.exec("cat kept/link; stat -c %a kept")).stdout == b"kept750\n"


async def what_cannot_be_is_refused():
    for manifest in (Manifest(root="/elsewhere"), Manifest(users=[User(name="eve")])):
        try:
            await CLIENT.create(manifest=manifest, options=OPTIONS)
        except ValueError:
            continue
        raise AssertionError(f"it was taken: {manifest}")


async def main():
    await agent()
    await session_works()
    await workspace_is_resumed()
    await what_cannot_be_is_refused()


asyncio.run(main())
