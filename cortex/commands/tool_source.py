"""The tools that `cortex tools` speaks of: those of MCP servers, which are started for it, and of a toolbox."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import anyio

from cortex.discovery import discovery_of
from cortex.mcp_config import McpServerSettings
from cortex.setting_keys import nearest
from cortex.settings import Settings
from sandbox import place_of_tools

from .exits import CommandError
from .mcp_trial import chosen_servers, refuse_if_killed

if TYPE_CHECKING:
    from cortex.tools import UsableTool


@dataclass(frozen=True, slots=True)
class Seen:
    """What was found, and which servers could not be asked, each with the reason."""

    tools: Sequence[UsableTool]
    count: int = 0
    """Of all, also of those that a search has not found."""
    troubles: Mapping[str, str] = field(default_factory=dict)
    answered: int = 0
    """Servers that told their tools, and toolboxes."""
    scores: Mapping[str, float] = field(default_factory=dict)

    def score_of(self, tool: UsableTool) -> float | None:
        return self.scores.get(tool.name)


def all_tools(query: str, options: Namespace, settings: Settings) -> Seen:
    """All of them, or the best for a query."""
    return anyio.run(_found, query, options, settings)


def tools_named(names: Sequence[str], options: Namespace, settings: Settings) -> Seen:
    """Those tools, in any spelling that code may use, or all of a server. Raises CommandError for a name that nobody
    has; one of a server that cannot be asked is not known to be wrong."""
    servers = chosen_servers(settings, options.server)
    # Where each name says whose it is, nobody else need be started.
    groups = [name.removeprefix("tools.").partition(".")[0] for name in names]
    if all(group in servers for group in groups):
        servers = {name: server for name, server in servers.items() if name in groups}
    tools, seen = anyio.run(_asked, servers, options, settings)
    found: dict[str, UsableTool] = {}
    for name in names:
        meant = _meant(name, tools)
        if not meant and not seen.troubles:
            raise CommandError(_unknown(name, tools))
        if not meant and name.removeprefix("tools.").partition(".")[0] not in seen.troubles:
            raise CommandError(
                f"{_unknown(name, tools)}, or it is of {', '.join(seen.troubles)}, which cannot be asked"
            )
        found |= {tool.name: tool for tool in meant}
    return Seen(list(found.values()), seen.count, seen.troubles, seen.answered)


async def _found(query: str, options: Namespace, settings: Settings) -> Seen:
    servers = chosen_servers(settings, options.server)
    if not query:
        tools, seen = await _asked(servers, options, settings)
        return Seen(tools[: options.limit], seen.count, seen.troubles, seen.answered)
    # Before anything is started: what is wrong about its settings is told at once.
    async with aclosing(discovery_of(settings)) as discovery:
        tools, seen = await _asked(servers, options, settings)
        most = settings.discovery.max_results if options.limit is None else options.limit
        ranked = await discovery.rank(query, [tool.declaration for tool in tools], "these", most)
    by_name = {tool.name: tool for tool in tools}
    scores = {match.name: match.score for match in ranked}
    return Seen([by_name[name] for name in scores], seen.count, seen.troubles, seen.answered, scores)


async def _asked(
    servers: Mapping[str, McpServerSettings], options: Namespace, settings: Settings
) -> tuple[list[UsableTool], Seen]:
    tools: list[UsableTool] = _own(options)
    troubles: dict[str, str] = {}
    if servers:
        refuse_if_killed(settings)
        from cortex.mcp_client import McpServers

        async with McpServers(servers, settings.mcp) as clients:
            tools += await clients.tools()
            statuses = clients.statuses()
        troubles = {status.name: status.error or "it gave no answer" for status in statuses if status.state != "ready"}
    answered = len(servers) - len(troubles) + (options.tools is not None)
    return tools, Seen((), len(tools), troubles, answered)


def _own(options: Namespace) -> list[UsableTool]:
    if options.tools is None:
        return []
    from cortex.chat import ToolsError, load_toolbox

    try:
        return [tool for tool in load_toolbox(options.tools) if tool.for_code]
    except ToolsError as error:
        raise CommandError(f"--tools: {error}") from error


def _meant(name: str, tools: Sequence[UsableTool]) -> list[UsableTool]:
    exact = [tool for tool in tools if name in {tool.name, tool.declaration.server}]
    if exact:
        return exact
    group, dot, rest = name.removeprefix("tools.").partition(".")
    path = (group, rest) if dot else (group,)
    places = place_of_tools([tool.declaration for tool in tools])
    return [tool for tool in tools if path in places.get(tool.name, ())]


def _unknown(name: str, tools: Sequence[UsableTool]) -> str:
    near = nearest(name, [tool.name for tool in tools])
    hint = f': did you mean "{near}"?' if near else ""
    return f'there is no tool "{name[:100]}"{hint}'
