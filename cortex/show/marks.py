"""The symbols in front of lines: Unicode for terminals that have it, ASCII for everything else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TextIO

from cortex.text import has_symbols


@dataclass(frozen=True, slots=True)
class Marks:
    run: str
    bar: str
    result: str
    refused: str
    note: str
    cut: str
    to: str
    full: str
    empty: str


SYMBOLS = Marks("▶", "│", "→", "✗", "·", "…", "→", "▰", "▱")
# No gauge in ASCII: a row of hashes says less than the number beside it.
ASCII = Marks(">", "|", "=", "!", "-", "...", "->", "", "")


def marks_for(stream: TextIO) -> Marks:
    return SYMBOLS if has_symbols(stream) else ASCII
