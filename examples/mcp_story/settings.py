"""The servers of the story, as the settings name them."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cortex import Settings
from sandbox import SandboxSettings

_ROOT = Path(__file__).resolve().parents[2]
_MODULES = {"commit-log": "commit_log", "ticket-desk": "ticket_desk"}


def story_servers() -> dict[str, dict[str, Any]]:
    """Started with this Python and from this checkout, whatever the current folder is."""
    return {
        name: {"command": sys.executable, "args": ["-m", f"examples.servers.{module}"], "cwd": str(_ROOT)}
        for name, module in _MODULES.items()
    }


def story_settings(given: SandboxSettings, home: Path, servers: Mapping[str, Mapping[str, Any]]) -> Settings:
    """Of the owner's settings only what this machine needs to run Deno: with others it were another story."""
    return Settings(
        sandbox=SandboxSettings(
            deno_path=given.deno_path, require=given.require, start_timeout_ms=given.start_timeout_ms, pool_size=2
        ),
        home=home,
        mcpServers=servers,
        tools={"policies": {"ticket-desk.close_ticket": "ask"}},
    )
