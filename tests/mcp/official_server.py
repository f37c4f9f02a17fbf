# SPDX-License-Identifier: Apache-2.0
"""Run by `cloche mcp --mount-tools` in test_mount: a server of PyPI's `mcp`."""
from typing import Literal, Optional

from mcp.server import MCPServer
from mcp.server.mcpserver import Image
from pydantic import BaseModel

server = MCPServer("official")


class Point(BaseModel):
    x: float
    y: float


@server.tool()
def add(a: int, b: int = 1) -> int:
    """Adds two numbers."""
    return a + b


@server.tool()
async def describe(name: str, tags: list[str], kind: Literal["plain", "fancy"] = "plain", at: Optional[Point] = None) -> str:
    """Says what it was given."""
    return f"{name} {tags} {kind} {at}"


@server.tool()
def paint() -> Image:
    """A picture."""
    return Image(data=b"\x89PNG\r\n\x1a\n\0", format="png")


@server.tool()
def divide(a: float, b: float) -> float:
    """Divides."""
    return a / b


server.run("stdio")
