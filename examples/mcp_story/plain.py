"""The other way: an MCP client that tells the model of every tool, and shows it every result as it comes."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from mcp import Client, StdioServerParameters, Tool, stdio_client

from cortex.models import ScriptError

_PATIENCE_S = 30
"""For each answer of a server."""


class PlainClient:
    def __init__(self, clients: Mapping[str, Client], definitions: Sequence[Mapping[str, Any]]) -> None:
        self._clients = clients
        self.tools = len(definitions)
        self.definitions = compact(definitions)
        """As model APIs take them: names, descriptions and the schemas of the arguments."""

    async def call(self, server: str, tool: str, arguments: Mapping[str, Any]) -> str:
        """The result as compact JSON, which is the least that it can be. Raises ScriptError if there is none."""
        answer = await self._clients[server].call_tool(tool, dict(arguments))
        if answer.is_error or answer.structured_content is None:
            raise ScriptError(f"{server} has no result for {tool}")
        return compact(answer.structured_content)


@asynccontextmanager
async def plain_client(servers: Mapping[str, Mapping[str, Any]]) -> AsyncIterator[PlainClient]:
    """Servers of its own, started now and ended with this."""
    stack = AsyncExitStack()
    try:
        silence = stack.enter_context(open(os.devnull, "w", encoding="utf-8"))  # noqa: ASYNC230, SIM115 - never blocks
        clients: dict[str, Client] = {}
        definitions: list[dict[str, Any]] = []
        for name, server in servers.items():
            transport = stdio_client(StdioServerParameters(**server), errlog=silence)
            client = await stack.enter_async_context(Client(transport, read_timeout_seconds=_PATIENCE_S))
            clients[name] = client
            definitions += [_definition(name, tool) for tool in (await client.list_tools()).tools]
        yield PlainClient(clients, definitions)
    finally:
        # Closed by hand: a task group that sees the exception would wrap it.
        await stack.aclose()


def _definition(server: str, tool: Tool) -> dict[str, Any]:
    about = {"name": f"{server}_{tool.name}", "description": tool.description, "parameters": tool.input_schema}
    return {"type": "function", "function": about}


def compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
