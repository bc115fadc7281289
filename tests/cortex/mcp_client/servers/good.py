"""A server as it should be, made with the SDK: over its pipes, or over HTTP at a port of loopback."""

from __future__ import annotations

import sys

from mcp.server import MCPServer
from mcp.server.mcpserver import Context

server = MCPServer("good")


@server.tool()
def add(a: int, b: int) -> int:
    """The sum of two numbers."""
    return a + b


@server.tool(structured_output=False)
def text(words: str) -> str:
    """The words again."""
    return words


@server.tool()
def fail(why: str) -> str:
    raise ValueError(why)


@server.tool()
async def grow(name: str, context: Context) -> str:
    """One more tool."""
    server.add_tool(text, name=name)
    await context.notify_tools_changed()
    return name


if __name__ == "__main__":
    if len(sys.argv) > 1:
        server.run("streamable-http", port=int(sys.argv[1]))
    else:
        server.run("stdio")
