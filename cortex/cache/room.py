"""Decide which cached results to delete, by size and age. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

BLOCK_BYTES = 4_096
"""What the smallest file takes on a disk. So a limit in bytes also limits the number of files."""


class File(NamedTuple):
    name: str
    size: int
    at: float


def is_fresh(at: float, now: float, max_age_s: float) -> bool:
    """Whether the time is at most `max_age_s` away, in both directions: a file that a wrong clock has dated into the
    future must not stay for years."""
    return abs(now - at) <= max_age_s


def surplus(files: Iterable[File], now: float, max_bytes: int, max_age_s: float) -> list[str]:
    """The names of the files to delete: those that are too old, and the oldest until the rest fits into `max_bytes`."""
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
