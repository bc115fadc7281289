"""Find the tools that a plan names, and say what is wrong with it here. MCP servers are started only when asked for."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING

import anyio

from cortex.catalogue import AbsentTool, Workbench
from cortex.discovery import Discovery
from cortex.mcp_config import servers_of
from cortex.settings import Settings
from cortex.tools import Toolbox, is_core
from cortex.workflows import WORKSPACE, Plan, PlanProblem, UnknownTool, problems_of, tool_names

from .mcp_trial import started
from .options import own_toolbox, refuse_if_killed

if TYPE_CHECKING:
    from cortex.settings import McpServerSettings
    from cortex.tools import UsableTool
    from cortex.turn import Folder


def found_problems(plan: Plan, options: Namespace, settings: Settings, folder: Folder | None) -> list[PlanProblem]:
    """All that would go wrong, as far as it can be known; with `ask_servers` also from the servers. Raises
    CommandError."""
    toolbox = own_toolbox(options.tools) if options.tools is not None else Toolbox()
    asks = getattr(options, "ask_servers", False)
    names = [name for name in tool_names(plan) if not is_core(name)]
    tools = anyio.run(_tools, names, toolbox, settings, asks)
    return problems_of(plan, tools, settings, folders=frozenset() if folder is None else {WORKSPACE})


async def _tools(
    names: Sequence[str], toolbox: Toolbox, settings: Settings, asks: bool
) -> Mapping[str, UsableTool | UnknownTool | None]:
    from cortex.mcp_client import McpServers

    enabled = {name: server.settings for name, server in servers_of(settings).items() if server.is_enabled}
    # Not entered, so that none is started: it only knows their names, as in a run.
    clients = McpServers(enabled, settings.mcp) if enabled else None
    server_of = Workbench(toolbox, clients, settings, Discovery(settings.discovery)).server_of
    found: dict[str, UsableTool | UnknownTool | None] = {}
    for name in names:
        own = toolbox.get(name)
        if own is not None:
            found[name] = own
        elif server_of(name) is not None:
            found[name] = None
        else:
            known = ", ".join([*toolbox.names(), *(f"{server}.…" for server in enabled)][:10]) or "there are none"
            found[name] = UnknownTool(f"neither the toolbox nor a server has it ({known})")
    left = [name for name, tool in found.items() if tool is None]
    if asks and left:
        wanted = {server for name in left if (server := server_of(name)) is not None}
        found |= await _asked(left, {name: enabled[name] for name in wanted}, toolbox, settings)
    return found


async def _asked(
    names: Sequence[str], servers: Mapping[str, McpServerSettings], toolbox: Toolbox, settings: Settings
) -> dict[str, UsableTool | UnknownTool]:
    from cortex.mcp_client import McpServers

    refuse_if_killed(settings)
    found: dict[str, UsableTool | UnknownTool] = {}
    async with aclosing(Discovery(settings.discovery)) as discovery, McpServers(servers, settings.mcp) as clients:
        await started(clients, servers, settings.mcp)
        workbench = Workbench(toolbox, clients, settings, discovery)
        for name in names:
            meant = await workbench.meant(name)
            if len(meant) != 1:
                found[name] = UnknownTool("it is not one tool; a task calls one by its whole name")
            elif isinstance(meant[0], AbsentTool):
                found[name] = UnknownTool(str(meant[0].error))
            else:
                found[name] = meant[0]
    return found
