"""Servers for the tests of the MCP client, and short ways to them."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio

from cortex.mcp_client import McpServers, McpTool
from cortex.settings.mcp_servers import McpServerSettings
from cortex.settings.sections import McpSettings
from sandbox import ToolError

PROGRAMS = Path(__file__).parent / "servers"
# Only what hangs takes so long, on a slow machine too.
BOUND_S = 120


def raw(*tools: Any, **options: Any) -> McpServerSettings:
    """The small server that is as bad as it is told to be."""
    settings = {name: options.pop(name) for name in list(options) if name in McpServerSettings.model_fields}
    told = json.dumps({"tools": list(tools) or ["echo"], **options})
    extra = settings.pop("args", ())
    return McpServerSettings(
        command=sys.executable, args=("-I", "-S", str(PROGRAMS / "raw.py"), told, *extra), **settings
    )


def sdk(program: str, *arguments: str) -> McpServerSettings:
    """A server made with the SDK, which takes a second to start."""
    return McpServerSettings(command=sys.executable, args=(str(PROGRAMS / program), *arguments))


def servers(
    *, settings: dict[str, Any] | None = None, now: Callable[[], float] | None = None, **named: McpServerSettings
) -> McpServers:
    options: dict[str, Any] = {} if now is None else {"call_limit_now": now}
    return McpServers(named, McpSettings.model_validate({"start_timeout_ms": 60_000, **(settings or {})}), **options)


async def tool(mcp: McpServers, name: str) -> McpTool:
    (found,) = [tool for tool in await mcp.tools_of(name.partition(".")[0]) if tool.name == name]
    return found


async def result(mcp: McpServers, name: str, /, **arguments: Any) -> Any:
    return json.loads((await (await tool(mcp, name)).call_json(arguments)).data)


async def patiently(mcp: McpServers, name: str, /, **arguments: Any) -> Any:
    """A result, where the settings leave so little time that a machine which stands still for a moment takes it all."""
    with anyio.fail_after(BOUND_S):
        while True:
            try:
                return await result(mcp, name, **arguments)
            except ToolError as error:
                if error.code != "timeout":
                    raise


async def until(condition: Callable[[], bool]) -> None:
    with anyio.fail_after(BOUND_S):
        while not condition():
            await anyio.sleep(0.01)


class Clock:
    """Time that passes when it is told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def is_alive(pid: int) -> bool:
    """A dead one that nobody has collected is not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
