"""All MCP servers of the settings. One that is dead never stops the others."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
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

# For all servers together, to end in good order. What is left then is killed.
CLOSING_S = 4.0
# What somebody who searches waits for stragglers.
PATIENCE_S = 5.0
_LOOK_S = 0.01


class McpServers:
    """Leave it in the task that entered it. Nothing is started before it is needed."""

    def __init__(
        self,
        servers: Mapping[str, McpServerSettings],
        settings: McpSettings,
        *,
        environment: Mapping[str, str] | None = None,
        call_limit_now: Callable[[], float] = time.monotonic,
        running: Running | None = None,
    ) -> None:
        """`running` are the notes by which another program can end those that are started here."""
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

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Every connection has ended, and so has every process. Takes a few seconds at most."""
        tasks, self._tasks = self._tasks, None
        if tasks is None:
            return
        for server in self._servers.values():
            server.close()
        tasks.cancel_scope.deadline = anyio.current_time() + CLOSING_S
        await tasks.__aexit__(None, None, None)

    @property
    def names(self) -> tuple[str, ...]:
        """Of those that are not disabled, in their order."""
        return tuple(self._servers)

    async def tools(self, patience_s: float = PATIENCE_S) -> Sequence[McpTool]:
        """Of all that can be had. Those not started yet are, side by side. Once there is one, the others are waited for
        as long as the patience lasts, and go on starting; nobody waits for one that failed before."""
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
        while not any(server.state == "ready" for server in self._servers.values()):  # noqa: ASYNC110 - of many
            await anyio.sleep(_LOOK_S)
        waiting.cancel()

    async def tools_of(self, server: str) -> Sequence[McpTool]:
        """Starts this one only. Raises McpUnavailable with the reason."""
        if server not in self._servers:
            raise McpUnavailable(f'There is no MCP server "{server[:60]}"')
        await self._servers[server].ready()
        return self._servers[server].tools

    def known(self) -> Sequence[McpTool]:
        """What is known now, without starting anything."""
        return [tool for server in self._servers.values() for tool in server.tools]

    def knows(self, server: str) -> bool:
        """Whether it is known what tools it has; not before it was started."""
        return bool(self._servers[server].tools) or self._servers[server].state == "ready"

    def wanted(self, server: str) -> str | None:
        """For who comes again rather than wait: None when it is there, or else it is started and this says so."""
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
