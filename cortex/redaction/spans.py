"""A secret found in a text: its position and kind."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from cortex.settings import RedactedKind

# Separators between the strings of a JSON value when they are scanned as one text. Only the rule for private keys
# reaches across the first; the second stands between a name and its value, so that {"password": "…"} is recognised.
BETWEEN = "\x1e"
NAMED = "\x1f"

# The longest value that is found as one: a private key.
MAX_VALUE_CHARACTERS = 65_536

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


def disjoint(spans: Iterable[Span]) -> list[Span]:
    """The spans in order and without overlaps. Overlapping spans are merged over all that either covers: a rest of the
    weaker one would still leak something."""
    merged: list[Span] = []
    for span in sorted(spans):
        if merged and span.start < merged[-1].end:
            last = merged[-1]
            kind = min(last.kind, span.kind, key=_RANK.__getitem__)
            merged[-1] = Span(last.start, max(last.end, span.end), kind)
        else:
            merged.append(span)
    return merged
