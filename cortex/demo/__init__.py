"""The story that `cortex demo` tells: what is said is scripted, and what is done is done."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .asking import Asker
    from .scenario import Scene, SceneTurn, load_scenes
    from .story import tell

# Imported when they are asked for: the servers in this folder are programs of their own, and need none of it.
_HOMES = {"Asker": "asking", "Scene": "scenario", "SceneTurn": "scenario", "load_scenes": "scenario", "tell": "story"}

__all__ = ["Asker", "Scene", "SceneTurn", "load_scenes", "tell"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)
