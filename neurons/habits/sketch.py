"""A fingerprint's parts as one line of a document, and how much two sets of parts have in common. Pure."""

from __future__ import annotations

from collections.abc import Mapping


def sketched(parts: Mapping[str, int]) -> str:
    """The parts as text; empty for no parts, and then similar to nothing."""
    return " ".join(f"{part}:{parts[part]}" for part in sorted(parts))


def parts_of(sketch: str) -> dict[str, int]:
    """Parse the text and skip what is not a part: the document may have been edited by hand."""
    pairs = (pair.partition(":") for pair in sketch.split())
    return {part: int(count) for part, _, count in pairs if count.isascii() and count.isdigit() and len(count) < 8}


def in_common(a: Mapping[str, int], b: Mapping[str, int]) -> float:
    """1 for the same parts, 0 for no part in common."""
    common = sum(min(count, b.get(part, 0)) for part, count in a.items())
    both = sum(a.values()) + sum(b.values())
    return 2 * common / both if both else 1.0
