"""Collects what is found in a script. The size of the collection is limited, however large the script is."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from functools import lru_cache
from typing import Any
from zlib import crc32

from .fingerprint_limits import MAX_LITERAL_CHARS, MAX_LITERALS, MAX_NAME_CHARS, MAX_NAMES, MAX_PARTS

# Labels that every script has. The other labels are words of JavaScript or the host, say more, and count double.
_PLAIN = frozenset(
    {"name", "fn", "call:fn", "return", "text", "number", "boolean", "null", ".", "object", "array", "="}
)
_HOST = re.compile(
    r"(?:https?|wss?)://(?:[^/?#@\s]{0,200}@)?((?:[\w-]{1,63}\.){1,8}[\w-]{1,63}|localhost)(?![\w.$-])", re.IGNORECASE
)
_NETWORK = frozenset({"fetch", "Request", "WebSocket", "EventSource", "XMLHttpRequest", "Deno"})
_SPACES = re.compile(r"\s+")


class Found:
    """The parts, literals, globals, tools and hosts of a script. Texts have one character for each byte of UTF-8."""

    def __init__(self) -> None:
        self.globals: set[str] = set()
        self.tools: set[str] = set()
        self.parts: defaultdict[tuple[str, str], int] = defaultdict(int)
        """How often a label occurs below another one."""
        self._literals: list[tuple[str, str, str]] = []
        self._hosts: set[str] = set()

    def literal(self, place: str, kind: str, text: str) -> None:
        if len(self._literals) < MAX_LITERALS:
            self._literals.append((place, kind, text))

    def addresses(self, text: str) -> None:
        if "://" in text:
            self._hosts.update(_HOST.findall(text))

    def to_json(self) -> dict[str, Any]:
        # Without a network function in the code, an address is a text like any other.
        hosts = {_cut(host).lower() for host in self._hosts} if self.globals & _NETWORK else set()
        return {
            "parts": _sampled(self.parts),
            "literals": [(_cut(place), kind, _cut(text, MAX_LITERAL_CHARS)) for place, kind, text in self._literals],
            "globals": sorted(map(_cut, self.globals))[:MAX_NAMES],
            "tools": sorted(map(_cut, self.tools))[:MAX_NAMES],
            "hosts": sorted(hosts)[:MAX_NAMES],
        }


def _sampled(parts: Mapping[tuple[str, str], int]) -> dict[str, int]:
    """A sample: the parts with the smallest hashes. Two large scripts keep the same parts, so that they can be
    compared."""
    hashed: defaultdict[str, int] = defaultdict(int)
    for part, count in parts.items():
        hashed[_hash(part)] += count if part[1] in _PLAIN else 2 * count
    return {key: hashed[key] for key in sorted(hashed)[:MAX_PARTS]}


@lru_cache(maxsize=4096)
def _hash(part: tuple[str, str]) -> str:
    return f"{crc32('>'.join(part).encode()):08x}"


def _cut(text: str, most: int = MAX_NAME_CHARS) -> str:
    """The text decoded, on one line, and cut to `most` characters."""
    if text.isascii() and text.isprintable():
        return text[:most]
    return _SPACES.sub(" ", text[: 4 * most].encode("latin-1", "replace").decode(errors="replace"))[:most]
