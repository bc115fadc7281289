"""Computes how similar two scripts are, and which literals differ; writes parts of a fingerprint as one line. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .fingerprint import Fingerprint, Literal

MAX_VALUES = 5
MAX_PARAMETERS = 16


def similarity(a: Fingerprint, b: Fingerprint) -> float:
    """1 for the same shape, 0 for nothing in common. Scripts with different tools or hosts score 0: what one of them
    may do says nothing about the other."""
    if a.tools != b.tools or a.hosts != b.hosts:
        return 0.0
    if a.shape == b.shape:
        return 1.0
    return in_common(a.parts, b.parts)


def in_common(a: Mapping[str, int], b: Mapping[str, int]) -> float:
    """1 for the same parts, 0 for no part in common."""
    common = sum(min(count, b.get(part, 0)) for part, count in a.items())
    both = sum(a.values()) + sum(b.values())
    return 2 * common / both if both else 1.0


def sketched(parts: Mapping[str, int]) -> str:
    """The parts as text; empty for no parts, and then similar to nothing."""
    return " ".join(f"{part}:{parts[part]}" for part in sorted(parts))


def parts_of(sketch: str) -> dict[str, int]:
    """Parse the text and skip what is not a part: the document may have been edited by hand."""
    pairs = (pair.partition(":") for pair in sketch.split())
    return {part: int(count) for part, _, count in pairs if count.isascii() and count.isdigit() and len(count) < 8}


@dataclass(frozen=True, slots=True)
class Parameter:
    """A literal that differs between occurrences: a neuron would need it as input."""

    path: str
    """What it is given to, like `call:fetch` or `tool:github.list owner`."""
    kind: str
    """text, number, regex, boolean, list, or name for a member of data."""
    values: tuple[str, ...]
    """The latest first."""

    @property
    def place(self) -> str:
        """What it is given to, as a person would write it: `fetch()`, `owner of tools.github.list()`."""
        label, *keys = self.path.split(" ")
        kind, _, name = label.partition(":")
        match kind:
            case "call" | "new" if name:
                place = f"{'new ' if kind == 'new' else ''}{name}()"
            case "tool":
                place = f"tools.{name}()"
            case "op":
                place = f"an operand of {name}"
            case "=":
                place = "a variable"
            case _:
                place = name or label
        return f"{'.'.join(keys)} of {place}" if keys else place


def parameters(occurrences: Sequence[Sequence[Literal]]) -> tuple[Parameter, ...]:
    """The literals that differ between the occurrences, which are given in order of time.

    A literal that all occurrences have at a place is no parameter, and neither is one that only one of them has: that
    is just an extra line.
    """
    places: dict[tuple[str, str], list[list[str]]] = {}
    for number, literals in enumerate(occurrences):
        for literal in literals:
            lists = places.setdefault((literal.path, literal.kind), [[] for _ in occurrences])
            lists[number].append(literal.text)
    found = []
    for (path, kind), lists in places.items():
        left = _without_common([texts for texts in lists if texts])
        for position in range(max(map(len, left))):
            values = dict.fromkeys(texts[position] for texts in reversed(left) if len(texts) > position)
            if len(values) > 1:
                found.append(Parameter(path, kind, tuple(values)[:MAX_VALUES]))
    # Names of members last: some are only the names of other data.
    return tuple(sorted(found, key=lambda parameter: parameter.kind == "name")[:MAX_PARAMETERS])


def _without_common(lists: list[list[str]]) -> list[list[str]]:
    common = Counter(lists[0])
    for texts in lists[1:]:
        common &= Counter(texts)
    rest = []
    for texts in lists:
        seen = common.copy()
        rest.append([text for text in texts if not _taken(seen, text)])
    return rest


def _taken(counts: Counter[str], text: str) -> bool:
    counts[text] -= 1
    return counts[text] >= 0
