# SPDX-License-Identifier: Apache-2.0
"""Run by test_clients with PyPI's `mcp`: python_client.py MODE TARGET [TOKEN]; TARGET is the program, or the address of a server."""
import asyncio
import base64
import sys

from mcp import Client, MCPError, StdioServerParameters, stdio_client
from mcp_types import ElicitResult

MODE, TARGET, *REST = sys.argv[1:]
asked: list = []
heard: list = []


async def on_question(context, params) -> ElicitResult:
    asked.append(params.message)
    return ElicitResult(action="accept", content={"allow": True})


async def on_progress(progress, total, message) -> None:
    heard.append((progress, message))


def transport():
    if not TARGET.startswith("http"):
        return stdio_client(StdioServerParameters(command=TARGET, args=["mcp"], env=None))
    import httpx2
    from mcp.client.streamable_http import streamable_http_client
    headers = {"Authorization": f"Bearer {REST[0]}"} if REST else {}
    return streamable_http_client(TARGET, http_client=httpx2.AsyncClient(headers=headers, timeout=300))


async def main() -> None:
    async with Client(transport(), mode=MODE, elicitation_callback=on_question) as client:
        tools = (await client.list_tools()).tools
        assert len(tools) == 13, tools
        # The client checks what is structured against each tool's schema.
        done = await client.call_tool("bash", {"command": "echo hi; exit 3"})
        assert not done.is_error and done.structured_content["exit_code"] == 3, done
        assert done.content[0].text == "hi\n[exit code 3]", done
        await client.call_tool("python", {"code": "x = 41"})
        done = await client.call_tool("python", {"code": "print('out')\nx + 1"})
        assert done.structured_content["result"] == "42", done
        done = await client.call_tool("python", {"code": "1/0"})
        assert done.structured_content["error"]["type"] == "ZeroDivisionError", done
        for tool, arguments in (("write_file", {"path": "a.txt", "content": "one\n"}), ("read_file", {"path": "a.txt"}),
                                ("edit_file", {"path": "a.txt", "old_text": "one", "new_text": "two"}), ("list_files", {}),
                                ("process", {"action": "list"}), ("network", {"action": "show"}), ("sandbox_create", {"name": "b"}),
                                ("sandbox_fork", {"count": 2}), ("sandbox_list", {}), ("snapshot", {"action": "save", "name": "s"}),
                                ("snapshot", {"action": "delete", "name": "s"}), ("sandbox_delete", {"sandbox": "b"})):
            done = await client.call_tool(tool, arguments)
            assert not done.is_error, (tool, done)
        done = await client.call_tool("read_file", {"path": "nothing"})
        assert done.is_error and done.content[0].text.startswith("ENOENT"), done

        done = await client.call_tool("python", {"code": "import matplotlib.pyplot as plt; plt.plot([1, 2]); plt.show()"})
        assert base64.b64decode(done.content[1].data).startswith(b"\x89PNG"), done
        await client.call_tool("bash", {"command": "for i in 1 2 3; do echo $i; sleep 0.5; done"}, progress_callback=on_progress)
        assert heard and heard[-1][1] in ("1", "2", "3"), heard

        done = await client.call_tool("network", {"action": "allow", "rules": ["example.com:443"]})
        assert done.structured_content["rules"] == ["example.com:443"], done
        assert len(asked) == 1 and "example.com:443" in asked[0], asked

        uris = [str(resource.uri) for resource in (await client.list_resources()).resources]
        assert "sandbox://default/workspace/a.txt" in uris, uris
        read = await client.read_resource("sandbox://default/workspace/a.txt")
        assert read.contents[0].text == "two\n", read
        try:
            await client.read_resource("file:///etc/passwd")
        except MCPError:
            pass
        else:
            raise AssertionError("a file of the host was read")

        try:  # a call that its client gives up
            await asyncio.wait_for(client.call_tool("bash", {"command": "touch begun; sleep 1000; touch ended"}), 1)
        except (asyncio.TimeoutError, TimeoutError):
            pass
        done = await client.call_tool("bash", {"command": "ls begun ended 2>/dev/null; ps | grep -c 'sleep 100[0]'"})
        assert done.structured_content["stdout"] == "begun\n0\n", done
    print("done")


asyncio.run(main())
