"""A server as it should be. With `legacy` it knows only the old handshake."""

from __future__ import annotations

import os
import sys
from typing import Any

from mcp.server import MCPServer

server = MCPServer("good")


@server.tool()
def add(a: int, b: int) -> int:
    """The sum of two numbers."""
    return a + b


@server.tool()
def person(name: str) -> dict[str, Any]:
    """Somebody."""
    return {"name": name, "tags": ["a", "b"]}


@server.tool(structured_output=False)
def text(words: str) -> str:
    """The words again."""
    return words


@server.tool()
def environment() -> dict[str, str]:
    return dict(os.environ)


@server.tool()
def fail(why: str) -> str:
    raise ValueError(why)


if __name__ == "__main__":
    print("not a message", flush=True)
    sys.stderr.write("hello from good\n")
    server.run("stdio")
