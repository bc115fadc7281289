"""Which results have to go. Pure decisions about sizes and times."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

BLOCK_BYTES = 4_096
"""What the smallest file takes on a disk. So a limit in bytes is one of their number, too."""


class File(NamedTuple):
    name: str
    size: int
    at: float


def is_fresh(at: float, now: float, max_age_s: float) -> bool:
    """In both directions: what a wrong clock has dated into the future must not stay for years."""
    return abs(now - at) <= max_age_s


def surplus(files: Iterable[File], now: float, max_bytes: int, max_age_s: float) -> list[str]:
    """The names of those that are too old, and of the oldest as long as there are too many bytes."""
    gone: list[str] = []
    kept = 0
    for file in sorted(files, key=lambda file: (-file.at, file.name)):
        if is_fresh(file.at, now, max_age_s):
            kept += taken(file.size)
            if kept <= max_bytes:
                continue
        gone.append(file.name)
    return gone


def taken(size: int) -> int:
    return max(BLOCK_BYTES, size)
