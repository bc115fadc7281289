"""`cortex mcp test`: start each MCP server, ask for its tools, and report what is wrong."""

from __future__ import annotations

import json
import sys
import time
from argparse import Namespace
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import anyio

from cortex.mcp_config import servers_of
from cortex.settings import McpServerSettings, Settings
from cortex.text import fit, terminal_columns, visible
from cortex.tools import policies_without_tool

from .exits import CODE_FAILED, SUCCESS, CommandError
from .options import refuse_if_killed
from .rows import Paint

if TYPE_CHECKING:
    from cortex.mcp_client import McpServers
    from cortex.settings import McpSettings

_MAX_DETAIL = 2_000
_LOOK_S = 1.0
# Repeat the same message after this long, as a sign of life.
_AGAIN_S = 10.0


@dataclass(frozen=True, slots=True)
class Trial:
    name: str
    ok: bool
    tools: tuple[str, ...]
    ms: int
    protocol: str | None
    error: str | None


Show = Callable[[Trial], None]


def try_servers(options: Namespace, settings: Settings, paint: Paint) -> int:
    servers = chosen_servers(settings, options.names)
    if not servers:
        if options.json:
            print("[]")
        print("There are no MCP servers to try", file=sys.stderr)
        return SUCCESS
    refuse_if_killed(settings)

    def show(trial: Trial) -> None:
        if not options.json:
            print(_line(trial, max(map(len, servers)), paint), flush=True)

    trials: list[Trial] = []
    anyio.run(_try_all, servers, settings, trials, show)
    trials.sort(key=lambda trial: list(servers).index(trial.name))
    if options.json:
        print(json.dumps([asdict(trial) for trial in trials]))
    for name in _misspelt(trials, settings):
        print(f'cortex mcp: tools.policies has "{visible(name)}", but there is no tool with that name', file=sys.stderr)
    return SUCCESS if all(trial.ok for trial in trials) else CODE_FAILED


def chosen_servers(settings: Settings, names: list[str]) -> dict[str, McpServerSettings]:
    """The named servers, even if disabled; without names all enabled servers. Raises CommandError."""
    known = servers_of(settings)
    for name in names:
        if name not in known:
            raise CommandError(f'there is no server "{name[:100]}"; there are: {(", ".join(known) or "none")[:500]}')
    if names:
        return {name: known[name].settings.model_copy(update={"disabled": False}) for name in names}
    return {name: named.settings for name, named in known.items() if named.is_enabled}


async def _try_all(
    servers: Mapping[str, McpServerSettings],
    settings: Settings,
    trials: list[Trial],
    show: Show,
) -> None:
    import mcp  # noqa: F401 - this import takes a second, which must not count as the servers' time

    from cortex.mcp_client import McpServers

    async with (
        McpServers(servers, settings.mcp) as clients,
        waiting_told(clients, settings.mcp),
        anyio.create_task_group() as tasks,
    ):
        for name, server in servers.items():
            tasks.start_soon(_try, clients, name, server, trials, show)


async def _try(clients: McpServers, name: str, server: McpServerSettings, trials: list[Trial], show: Show) -> None:
    from cortex.mcp_client import McpUnavailable

    began = time.monotonic()
    error: str | None = None
    tools: tuple[str, ...] = ()
    try:
        tools = tuple(tool.name for tool in await clients.tools_of(name))
    except McpUnavailable as unavailable:
        error = str(unavailable)
    ms = round((time.monotonic() - began) * 1000)
    [status] = [status for status in clients.statuses() if status.name == name]
    # status.error is the bare reason; the table supplies the context.
    why = None if error is None else (status.error or error)[:_MAX_DETAIL] + _advice(status.error or "", server)
    trials.append(Trial(name, error is None, tools, ms, status.protocol, why))
    show(trials[-1])


def _advice(error: str, server: McpServerSettings) -> str:
    if not server.is_remote or "(HTTP 401)" not in error:
        return ""
    if any(name.casefold() == "authorization" for name in server.headers):
        return " (look at its header Authorization)"
    return " (does it want --header 'Authorization=Bearer ${env:VARIABLE}'?)"


def _line(trial: Trial, names: int, paint: Paint) -> str:
    verdict = paint(f"{'ok' if trial.ok else 'broken':7}", "green" if trial.ok else "red")
    if not trial.ok:
        return f"{verdict} {trial.name:{names}}  {visible(trial.error or '')}"
    count = f"{len(trial.tools)} tool{'' if len(trial.tools) == 1 else 's'}"
    return f"{verdict} {trial.name:{names}}  {count} after {trial.ms} ms, MCP {visible(trial.protocol or 'unknown')}"


def _misspelt(trials: list[Trial], settings: Settings) -> list[str]:
    """Names in `tools.policies` that match no tool of the tried servers: a misspelt `deny` would protect nothing."""
    tools = [tool for trial in trials for tool in trial.tools]
    tried = tuple(f"{trial.name.casefold()}{mark}" for trial in trials if trial.ok for mark in "._")
    return [name for name in policies_without_tool(tools, settings.tools) if name.casefold().startswith(tried)]


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
