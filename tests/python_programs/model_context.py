# packages: mcp
import anyio
from mcp.client.client import Client
from mcp.server.mcpserver import MCPServer

server = MCPServer("shop", instructions="Counts things.")


@server.tool()
def add(first: int, second: int = 1) -> int:
    """Adds two numbers."""
    return first + second


@server.tool()
async def fails(text: str) -> str:
    raise ValueError(f"no {text}")


@server.resource("shelf://{name}")
def shelf(name: str) -> str:
    return f"what is on {name}"


@server.prompt()
def ask(topic: str) -> str:
    return f"Tell me of {topic}."


async def main():
    async with Client(server) as client:
        tools = await client.list_tools()
        for tool in tools.tools:
            print(tool.name, tool.description, sorted(tool.input_schema["properties"]), tool.input_schema.get("required"))
        result = await client.call_tool("add", {"first": 4, "second": 38})
        print(result.content[0].text, result.structured_content, result.is_error)
        for name, arguments in (("fails", {"text": "luck"}), ("add", {"first": "many"}), ("none", {})):
            try:
                result = await client.call_tool(name, arguments)
                print(name, result.is_error, result.content[0].text.splitlines()[0])
            except Exception as error:
                print(name, type(error).__name__, str(error).splitlines()[0])
        print((await client.read_resource("shelf://top")).contents[0].text)
        print((await client.get_prompt("ask", {"topic": "tea"})).messages[0].content.text)


anyio.run(main)
