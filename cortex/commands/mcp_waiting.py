"""Start MCP servers and tell a person at a terminal which of them are still starting."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

import anyio

from cortex.text import fit, terminal_columns

if TYPE_CHECKING:
    from cortex.mcp_client import McpServers
    from cortex.settings import McpSettings

_LOOK_S = 1.0
# Repeat the same message after this long, as a sign of life.
_AGAIN_S = 10.0


async def started(clients: McpServers, names: Iterable[str], settings: McpSettings) -> None:
    """Start these servers concurrently and wait for all of them: half a list is no use to a person. Each server's
    status says how it went."""
    async with waiting_told(clients, settings), anyio.create_task_group() as tasks:
        for name in names:
            tasks.start_soon(_start, clients, name)


async def _start(clients: McpServers, name: str) -> None:
    from cortex.mcp_client import McpUnavailable

    with suppress(McpUnavailable):
        await clients.tools_of(name)


@asynccontextmanager
async def waiting_told(clients: McpServers, settings: McpSettings) -> AsyncIterator[None]:
    """Tell on stderr, if it is a terminal, which servers are starting while the block runs. Exceptions of the block
    come out in an ExceptionGroup."""
    if not sys.stderr.isatty():
        yield
        return
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_tell, clients, settings.start_timeout_ms / 1000)
        yield
        tasks.cancel_scope.cancel()


async def _tell(clients: McpServers, most_s: float) -> None:
    began = said_at = anyio.current_time()
    said: list[str] = []
    while True:
        await anyio.sleep(_LOOK_S)
        now = anyio.current_time()
        names = [status.name for status in clients.statuses() if status.state == "starting"]
        if names and (names != said or now - said_at >= _AGAIN_S):
            said, said_at = names, now
            line = f"waiting for {', '.join(names)}, {now - began:.0f} s by now (mcp.start_timeout_ms is {most_s:g} s)"
            print(fit(line, terminal_columns(sys.stderr)), file=sys.stderr, flush=True)
