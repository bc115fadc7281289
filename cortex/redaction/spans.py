"""A secret found in a text: its position and kind."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from cortex.settings import RedactedKind

# Separators between the strings of a JSON value when they are scanned as one text. Only the rule for private keys
# reaches across the first; the second stands between a name and its value, so that {"password": "…"} is recognised.
BETWEEN = "\x1e"
NAMED = "\x1f"

# The longest value that is found as one: a private key.
MAX_VALUE_CHARACTERS = 65_536

# A pattern holds the GIL until it finds something: a thread that searches megabytes at once stops the event loop.
_PIECE_CHARACTERS = 32_768
# More than any pattern matches, with what it looks at beyond that.
_MARGIN_CHARACTERS = 8_192

# Which kind wins where two overlap: the worse leak comes first.
_ORDER: tuple[RedactedKind, ...] = (
    "private_key",
    "jwt",
    "api_key",
    "secret",
    "iban",
    "card",
    "ssn",
    "email",
    "ip",
    "phone",
)
_RANK = {kind: rank for rank, kind in enumerate(_ORDER)}


class Span(NamedTuple):
    start: int
    end: int
    kind: RedactedKind


def searched(pattern: re.Pattern[str], text: str, begin: int = 0) -> Iterator[re.Match[str]]:
    """The matches that `pattern.finditer` finds, searched piece by piece. None is longer than _MARGIN_CHARACTERS."""
    while begin < len(text):
        end = begin + _PIECE_CHARACTERS
        for match in pattern.finditer(text, begin, end + _MARGIN_CHARACTERS):
            if match.start() >= end:
                break
            begin = match.end()
            yield match
        begin = max(begin, end)


def disjoint(spans: Iterable[Span]) -> list[Span]:
    """The spans in order and without overlaps. Overlapping spans are merged over all that either covers: a rest of the
    weaker one would still leak something."""
    merged: list[Span] = []
    for span in _in_order(spans):
        if merged and span.start < merged[-1].end:
            last = merged[-1]
            kind = min(last.kind, span.kind, key=_RANK.__getitem__)
            merged[-1] = Span(last.start, max(last.end, span.end), kind)
        else:
            merged.append(span)
    return merged


def _in_order(spans: Iterable[Span]) -> Iterator[Span]:
    """Sorted piece by piece of the text: sorting holds the GIL, too, and there may be a hundred thousand."""
    pieces: dict[int, list[Span]] = {}
    for span in spans:
        pieces.setdefault(span.start // _PIECE_CHARACTERS, []).append(span)
    for piece in sorted(pieces):
        yield from sorted(pieces[piece])
