"""Find the tools for `cortex tools` with the agent's own workbench, so that names and search are the same. Starts the
MCP servers."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import anyio

from cortex.discovery import Discovery, discovery_of
from cortex.settings import Settings

from .exits import CommandError
from .mcp_trial import chosen_servers, started
from .options import own_toolbox, refuse_if_killed

if TYPE_CHECKING:
    from cortex.catalogue import Workbench
    from cortex.mcp_client import McpServers
    from cortex.tools import Toolbox, UsableTool


@dataclass(frozen=True, slots=True)
class Seen:
    """The tools that were found, and the servers that could not be asked, each with the reason."""

    tools: Sequence[UsableTool]
    count: int = 0
    """Number of all tools, also of those that the search did not find."""
    troubles: Mapping[str, str] = field(default_factory=dict)
    answered: int = 0
    """Number of servers that listed their tools, plus the owner's toolbox."""
    scores: Mapping[str, float] = field(default_factory=dict)

    def score_of(self, tool: UsableTool) -> float | None:
        return self.scores.get(tool.name)


def all_tools(query: str, options: Namespace, settings: Settings) -> Seen:
    """All tools, or the best for a query, as `core.search` gives them."""
    return anyio.run(_found, query, options, settings)


def tools_named(names: Sequence[str], options: Namespace, settings: Settings) -> Seen:
    """The tools that `core.describe` finds for these names. Raises CommandError for a name that no tool has; a name of
    a server that cannot be asked raises nothing, since it may be right."""
    return anyio.run(_named, names, options, settings)


async def _found(query: str, options: Namespace, settings: Settings) -> Seen:
    async with (
        # Before the servers are started: a mistake in its settings is reported at once.
        aclosing(discovery_of(settings) if query else Discovery(settings.discovery)) as discovery,
        _sources(options, settings) as sources,
    ):
        await sources.start()
        tools, troubles, answered = sources.tools, sources.troubles, sources.answered
        if not query:
            return Seen(tools[: options.limit], len(tools), troubles, answered)
        most = settings.discovery.max_results if options.limit is None else options.limit
        found = await sources.workbench(discovery).search(query, most)
    by_name = {tool.name: tool for tool in tools}
    scores = {match.name: match.score for match in found}
    return Seen([by_name[name] for name in scores], len(tools), troubles, answered, scores)


async def _named(names: Sequence[str], options: Namespace, settings: Settings) -> Seen:
    from cortex.catalogue import AbsentTool

    found: dict[str, UsableTool] = {}
    troubles: dict[str, str] = {}
    async with aclosing(Discovery(settings.discovery)) as discovery, _sources(options, settings) as sources:
        workbench = sources.workbench(discovery)
        # Only the servers of these names need be started.
        await sources.start({server for name in names if (server := workbench.server_of(name)) is not None})
        for name in names:
            for tool in await workbench.meant(name):
                if not isinstance(tool, AbsentTool):
                    found[tool.name] = tool
                elif tool.server in sources.troubles:
                    troubles[tool.server] = sources.troubles[tool.server]
                else:
                    raise CommandError(f"{name[:100]}: {tool.error}")
    return Seen(list(found.values()), len(found), troubles)


@dataclass(frozen=True, slots=True)
class _Sources:
    toolbox: Toolbox
    clients: McpServers | None
    settings: Settings
    has_own: bool

    async def start(self, names: set[str] | None = None) -> None:
        """Start these servers, or all."""
        if self.clients is not None:
            wanted = [name for name in self.clients.names if names is None or name in names]
            await started(self.clients, wanted, self.settings.mcp)

    @property
    def tools(self) -> list[UsableTool]:
        own: list[UsableTool] = [tool for tool in self.toolbox if tool.for_code]
        return own if self.clients is None else [*own, *self.clients.known()]

    @property
    def troubles(self) -> dict[str, str]:
        """Servers that failed to start, each with its error."""
        statuses = self.clients.statuses() if self.clients is not None else []
        return {
            status.name: status.error or "it gave no answer"
            for status in statuses
            if status.state not in {"ready", "idle"}
        }

    @property
    def answered(self) -> int:
        servers = len(self.clients.names) - len(self.troubles) if self.clients is not None else 0
        return servers + self.has_own

    def workbench(self, discovery: Discovery) -> Workbench:
        from cortex.catalogue import Workbench

        return Workbench(self.toolbox, self.clients, self.settings, discovery)


@asynccontextmanager
async def _sources(options: Namespace, settings: Settings) -> AsyncIterator[_Sources]:
    from cortex.tools import Toolbox

    servers = chosen_servers(settings, options.server)
    toolbox = Toolbox() if options.tools is None else own_toolbox(options.tools)
    if not servers:
        yield _Sources(toolbox, None, settings, options.tools is not None)
        return
    refuse_if_killed(settings)
    from cortex.mcp_client import McpServers

    async with McpServers(servers, settings.mcp) as clients:
        yield _Sources(toolbox, clients, settings, options.tools is not None)
