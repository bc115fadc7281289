"""`cortex mcp list`: print the MCP servers and where each is configured. Secrets given to them are not shown."""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from collections.abc import Iterator, Mapping
from typing import Any

from cortex.mcp_config import Named, servers_of, shown_arguments
from cortex.settings import HIDDEN, Settings, shown
from cortex.text import fit, padded, wrapped

from .exits import SUCCESS
from .mcp_change import line_of
from .rows import LEAST_TEXT, POLICY_STYLES, Paint


def print_list(options: Namespace, settings: Settings, width: int, paint: Paint) -> int:
    servers = servers_of(settings)
    if options.json:
        print(json.dumps([facts_of(name, named) for name, named in servers.items()]))
    elif servers:
        print("\n".join(list_lines(servers, width, paint)))
    else:
        print("There are no MCP servers yet: cortex mcp add NAME -- COMMAND", file=sys.stderr)
    return SUCCESS


def facts_of(name: str, named: Named) -> dict[str, Any]:
    server = named.settings
    return {
        "name": name,
        "source": named.source,
        "transport": "http" if server.is_remote else "stdio",
        "command": server.command,
        "args": shown_arguments(server.args),
        "env": dict.fromkeys(server.env, HIDDEN),
        "cwd": server.cwd,
        "url": shown(server.url),
        "headers": dict.fromkeys(server.headers, HIDDEN),
        "policy": server.policy,
        "max_calls_per_minute": server.max_calls_per_minute,
        "disabled": server.disabled,
    }


def list_lines(servers: Mapping[str, Named], width: int, paint: Paint) -> Iterator[str]:
    names = max(len(name) for name in (*servers, "name"))
    room = width - names - len("  policy  from      ")
    if room >= LEAST_TEXT:
        yield paint(f"{'name':{names}}  policy  from      what", "dim")
    for name, named in servers.items():
        policy = "off" if named.settings.disabled else named.settings.policy
        style = POLICY_STYLES.get(policy, "dim")
        what = line_of(named.settings)
        source = "settings" if named.source == "settings" else "home"
        if room < LEAST_TEXT:
            yield paint(fit(f"{name}: {policy}, from {source}", width), style)
            yield from (f"  {line}" for line in wrapped(fit(what, 4 * (width - 2)), width - 2))
            continue
        yield f"{padded(name, names)}  {paint(f'{policy:6}', style)}  {source:8}  {fit(what, room)}"
