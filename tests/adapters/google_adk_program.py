# SPDX-License-Identifier: Apache-2.0
"""ADK's environment tools on a sandbox, by an agent whose model is scripted."""
import asyncio
import os
from pathlib import Path

from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.adk.tools.environment import EnvironmentToolset
from google.genai import types

from cloche.adapters.google_adk import ClocheEnvironment

SERVER = {"url": os.environ["SERVER_URL"], "token": os.environ["SERVER_TOKEN"]} if "SERVER_URL" in os.environ else {}
CALLS = [("WriteFile", {"path": "a.txt", "content": "hello"}), ("Execute", {"command": "tr a-z A-Z < a.txt; exit 3"}),
         ("EditFile", {"path": "a.txt", "old_string": "hello", "new_string": "bye"}), ("ReadFile", {"path": "a.txt"})]


class Scripted(BaseLlm):
    async def generate_content_async(self, llm_request, stream=False):
        step = sum(part.function_response is not None for content in llm_request.contents for part in content.parts)
        part = (types.Part.from_function_call(name=CALLS[step][0], args=CALLS[step][1]) if step < len(CALLS)
                else types.Part.from_text(text="done"))
        yield LlmResponse(content=types.Content(role="model", parts=[part]))


async def agent(environment: ClocheEnvironment) -> None:
    runner = InMemoryRunner(LlmAgent(name="worker", model=Scripted(model="scripted"),
                                     tools=[EnvironmentToolset(environment=environment)]), app_name="app")
    session = await runner.session_service.create_session(app_name="app", user_id="u")
    told = []
    async for event in runner.run_async(user_id="u", session_id=session.id,
                                        new_message=types.UserContent(parts=[types.Part.from_text(text="go")])):
        told += [part.function_response.response for part in event.content.parts if part.function_response]
    assert told[0]["status"] == "ok", told
    assert (told[1]["status"], told[1]["stdout"], told[1]["exit_code"]) == ("error", "HELLO", 3), told
    assert told[2]["status"] == "ok" and "bye" in str(told[3]), told


async def main() -> None:
    environment = ClocheEnvironment(env={"A": "1"}, **SERVER)
    try:
        environment.sandbox
    except RuntimeError as error:
        assert "initialize" in str(error)
    assert not environment.is_initialized
    await environment.initialize()
    await environment.initialize()
    assert environment.is_initialized
    done = await environment.execute("pwd; echo $A; echo err >&2; exit 4")
    assert (done.stdout, done.stderr, done.exit_code, done.timed_out) == ("/workspace\n1\n", "err\n", 4, False), done
    late = await environment.execute("echo before; sleep 1000", timeout=0.5)
    assert (late.stdout, late.timed_out) == ("before\n", True), late
    await environment.write_file(Path("sub/b.bin"), b"\0\xff")
    assert await environment.read_file("/workspace/sub/b.bin") == b"\0\xff"
    try:
        await environment.read_file("none")
    except FileNotFoundError:
        pass
    else:
        raise AssertionError("a file that there is not was read")
    await agent(environment)
    await environment.close()
    await environment.close()
    assert not environment.is_initialized


asyncio.run(main())
