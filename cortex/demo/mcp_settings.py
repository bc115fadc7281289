"""The servers of the demo, as the settings name them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from cortex.settings import McpServerSettings, Settings, ToolSettings
from sandbox import SandboxSettings

if TYPE_CHECKING:
    from collections.abc import Mapping

_MODULES = {"commit-log": "commit_log", "ticket-desk": "ticket_desk"}
_PROCESSES = 2


def demo_servers() -> dict[str, McpServerSettings]:
    """Started with this Python and from this installation, whatever the folder that one is in has to offer."""
    here = str(Path(__file__).parents[2])
    return {
        name: McpServerSettings(
            command=sys.executable,
            args=("-P", "-m", f"cortex.demo.servers.{module}"),
            env={"PYTHONPATH": here},
        )
        for name, module in _MODULES.items()
    }


def demo_settings(given: SandboxSettings, home: Path, servers: Mapping[str, McpServerSettings]) -> Settings:
    """Of the owner's settings only what this machine needs to run Deno: with others it were another story."""
    sandbox = SandboxSettings(
        deno_path=given.deno_path,
        require=given.require,
        start_timeout_ms=given.start_timeout_ms,
        pool_size=_PROCESSES,
    )
    tools = ToolSettings(policies={"ticket-desk.close_ticket": "ask"})
    return Settings(sandbox=sandbox, home=home, mcpServers=dict(servers), tools=tools)
