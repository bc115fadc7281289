"""All MCP servers of the settings. A dead server never blocks the others."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Self

import anyio

from sandbox import Running

from .errors import McpUnavailable
from .server import Server

if TYPE_CHECKING:
    from anyio.abc import TaskGroup

    from cortex.settings import McpServerSettings, McpSettings

    from .server import ServerStatus
    from .tool import McpTool

# All servers together have this long to end in good order. Then the rest is killed.
CLOSING_S = 4.0
# A search waits this long for slow servers, and longer while none is ready.
PATIENCE_S = 5.0
_LOOK_S = 0.01


class McpServers:
    """Use it with `async with`, entered and left in the same task. No server is started before it is needed."""

    def __init__(
        self,
        servers: Mapping[str, McpServerSettings],
        settings: McpSettings,
        *,
        environment: Mapping[str, str] | None = None,
        call_limit_now: Callable[[], float] = time.monotonic,
        running: Running | None = None,
    ) -> None:
        """`running` notes the processes that are started here, so that `cortex kill` can kill them."""
        environment = os.environ if environment is None else environment
        self._version = 0
        self._tasks: TaskGroup | None = None
        self._servers = {
            name: Server(name, server, settings, environment, self._changed, call_limit_now, running or Running())
            for name, server in servers.items()
            if not server.disabled
        }

    async def __aenter__(self) -> Self:
        self._tasks = await anyio.create_task_group().__aenter__()
        for server in self._servers.values():
            server.open(self._tasks)
        return self

    async def __aexit__(self, *exc: object) -> None:
        """End every connection and every process. Takes at most a few seconds."""
        tasks, self._tasks = self._tasks, None
        if tasks is None:
            return
        for server in self._servers.values():
            server.close()
        tasks.cancel_scope.deadline = anyio.current_time() + CLOSING_S
        await tasks.__aexit__(None, None, None)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the servers that are not disabled, in their order."""
        return tuple(self._servers)

    async def tools(self, patience_s: float = PATIENCE_S) -> Sequence[McpTool]:
        """The tools of all servers that are ready. Starts the others concurrently. Waits until `patience_s` has passed
        and one is ready; the rest go on starting. Does not wait for a server that failed before."""
        async with anyio.create_task_group() as around:
            around.start_soon(self._lose_patience, patience_s, around.cancel_scope)
            async with anyio.create_task_group() as tasks:
                for server in self._servers.values():
                    if server.has_failed:
                        server.start()
                    elif server.state != "ready":
                        tasks.start_soon(_tried, server)
            around.cancel_scope.cancel()
        return self.known()

    async def _lose_patience(self, patience_s: float, waiting: anyio.CancelScope) -> None:
        await anyio.sleep(patience_s)
        while not any(server.state == "ready" for server in self._servers.values()):  # noqa: ASYNC110 - many servers
            await anyio.sleep(_LOOK_S)
        waiting.cancel()

    async def tools_of(self, server: str) -> Sequence[McpTool]:
        """The tools of one server; starts only this one. Raises McpUnavailable with the reason."""
        if server not in self._servers:
            raise McpUnavailable(f'There is no MCP server "{server[:60]}"')
        await self._servers[server].ready()
        return self._servers[server].tools

    def known(self) -> Sequence[McpTool]:
        """The tools that are known now. Starts no server."""
        return [tool for server in self._servers.values() for tool in server.tools]

    def knows(self, server: str) -> bool:
        """Whether the server's tools are known; they are not before its first start."""
        return bool(self._servers[server].tools) or self._servers[server].state == "ready"

    def wanted(self, server: str) -> str | None:
        """None when the server is ready. Otherwise start it in the background and return why it is not ready, for a
        caller that tries again instead of waiting."""
        one = self._servers[server]
        if one.state == "ready":
            return None
        one.start()
        why = one.status().reason
        return f'MCP server "{server}" is not there yet: {why or "it is starting"}'

    def version(self) -> int:
        """Grows whenever `known` changes."""
        return self._version

    def statuses(self) -> list[ServerStatus]:
        return [server.status() for server in self._servers.values()]

    def _changed(self) -> None:
        self._version += 1


async def _tried(server: Server) -> None:
    try:
        await server.ready()
    except McpUnavailable:
        return  # its status says why
