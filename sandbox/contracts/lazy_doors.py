"""Lazy imports for a package's `__init__.py`: a module is imported when one of its names is first used.

`cortex run` needs a third of these modules; importing the rest would take as long again.
A separate module, because every `__init__.py` imports it directly.
"""

from __future__ import annotations

import sys
from importlib import import_module

# Not imported from `typing`, which takes 15 ms: `cortex kill` imports this module and must be fast.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any


def lazy_door(package: str, names: Mapping[str, str]) -> tuple[list[str], Callable[[str], Any]]:
    """The `__all__` and `__getattr__` of a package. `names` maps each module to its public names, with spaces between
    them; a module is imported when the first of its names is used."""
    homes = {name: module for module, found in names.items() for name in found.split()}

    def find(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found = getattr(import_module(f".{homes[name]}", package), name)
        setattr(sys.modules[package], name, found)  # cache: the next access does not come here
        return found

    return sorted(homes), find
