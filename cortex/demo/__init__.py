"""The story that `cortex demo` tells: what is said is scripted, and what is done is done."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .asking import Asker
    from .mcp_scenes import McpScene, load_mcp_scenes
    from .mcp_story import tell_mcp
    from .scenario import Scene, SceneTurn, load_scenes
    from .story import tell

# Imported when they are asked for: the servers in this folder are programs of their own, and need none of it.
_HOMES = {
    "Asker": "asking",
    "McpScene": "mcp_scenes",
    "Scene": "scenario",
    "SceneTurn": "scenario",
    "load_mcp_scenes": "mcp_scenes",
    "load_scenes": "scenario",
    "tell": "story",
    "tell_mcp": "mcp_story",
}

__all__ = ["Asker", "McpScene", "Scene", "SceneTurn", "load_mcp_scenes", "load_scenes", "tell", "tell_mcp"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)
