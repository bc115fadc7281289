"""Translates tool names: `core.execute` in the cortex is `core_execute` for models, whose APIs allow no dots.

Model APIs accept only letters, digits, `_` and `-`. One table maps both ways, and two tools never share a name on
either side.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

MAX_NAME_LENGTH = 64

_NAME = re.compile(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*", re.ASCII)
# `core_execute` would be `core.execute` on the wire, and a quick reader takes `Core.execute` for it.
_CORE = re.compile(r"core([._-]|$)", re.IGNORECASE)


def wire_name(name: str) -> str:
    return name.replace(".", "_")


def is_core(name: str) -> bool:
    """Whether the name, of either kind, is reserved for core tools."""
    return _CORE.match(name) is not None


def check_name(name: str) -> None:
    """Raise ValueError, with what to do, for a name that some API would refuse."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ValueError(
            f"Cannot name a tool {str(name)[:100]!r}: a name has letters, digits, _ and -, in parts joined by dots; "
            'give one, as in name="shop.stock"'
        )
    if len(name) > MAX_NAME_LENGTH:
        raise ValueError(
            f'Cannot name a tool "{name[:100]}": {len(name)} characters are more than {MAX_NAME_LENGTH}; '
            "give it a shorter one with name=…"
        )


class WireNames:
    """The names in use, of both kinds."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._by_wire: dict[str, str] = {}
        for name in names:
            self.add(name)

    def add(self, name: str) -> str:
        """Register a name and return its wire name. Raises ValueError, naming both, when another tool has either."""
        check_name(name)
        wire = wire_name(name)
        other = self._by_wire.get(wire)
        if other is not None:
            both = "" if other == name else f', which is the same on the wire: "{wire}"'
            raise ValueError(f'Cannot add tool "{name}": there is "{other}" already{both}; give one another name')
        self._by_wire[wire] = name
        return wire

    def name_of(self, name: str) -> str | None:
        """The name with dots, given either kind; None when there is no such tool."""
        known = self._by_wire.get(wire_name(name)) if isinstance(name, str) else None
        return known if known is not None and name in {known, wire_name(known)} else None

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_wire.values())
