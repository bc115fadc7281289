"""Suggests similar names for one that does not exist. Pure, and fast among thousands: names come from strangers."""

from __future__ import annotations

from collections.abc import Iterable

MAX_CHARACTERS = 64


class NearNames:
    """An index of names, by pairs of letters."""

    def __init__(self, names: Iterable[str]) -> None:
        self._pairs = {name: _pairs(name) for name in names}

    def __call__(self, name: str, most: int) -> list[str]:
        """At most `most` similar names, the best first; names with nothing in common are left out."""
        asked = _pairs(name)
        shares = ((2 * len(asked & own) / (len(asked) + len(own) or 1), known) for known, own in self._pairs.items())
        found = sorted((share for share in shares if share[0] > 0), key=lambda found: (-found[0], found[1]))
        return [known for _, known in found[:most]]

    def __len__(self) -> int:
        return len(self._pairs)

    def some(self, most: int) -> list[str]:
        return list(self._pairs)[:most]


def _pairs(name: str) -> frozenset[str]:
    """Pairs of neighbouring letters, ignoring case and separators."""
    letters = "".join(filter(str.isalnum, name[:MAX_CHARACTERS].casefold()))
    return frozenset(letters[at : at + 2] for at in range(len(letters) - 1)) or frozenset({letters})
