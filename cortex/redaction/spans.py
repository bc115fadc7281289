"""Where in a text something is that must not be seen, and what it is."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from cortex.settings import RedactedKind

# Between the strings of a JSON value when they are looked at as one text. No rule reaches across the first; the second
# stands between a name and its value, so that {"password": "…"} is seen for what it is.
BETWEEN = "\x1e"
NAMED = "\x1f"

# The longest that is found as one: a private key.
MAX_VALUE_CHARACTERS = 65_536

# Who wins where two kinds overlap: the worse to lose comes first.
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
    """In order and without overlaps. Those that overlap become one over all that either covers: a rest of the weaker
    one would still tell something."""
    merged: list[Span] = []
    for span in sorted(spans):
        if merged and span.start < merged[-1].end:
            last = merged[-1]
            kind = min(last.kind, span.kind, key=_RANK.__getitem__)
            merged[-1] = Span(last.start, max(last.end, span.end), kind)
        else:
            merged.append(span)
    return merged
