"""Doors that open one name at a time: `cortex run` needs a third of what is behind them, and the rest takes as long."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any


def lazy_door(package: str, names: Mapping[str, Sequence[str]]) -> tuple[list[str], Callable[[str], Any]]:
    """The `__all__` and the `__getattr__` of a package, from its modules and the names that others may take from each.
    A module is imported with the first of its names that somebody asks for."""
    homes = {name: module for module, found in names.items() for name in found}

    def find(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found = getattr(import_module(f".{homes[name]}", package), name)
        setattr(sys.modules[package], name, found)  # the next time it is there
        return found

    return sorted(homes), find
