"""One promise of the source documents."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Requirement:
    id: str
    source: str
    promise: str
    tests: tuple[str, ...]
