"""JSON text of large values, written in pieces: the encoder keeps the interpreter until it is done, also in a thread,
and with it the event loop. Between two pieces others have their turn."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

PIECE_VALUES = 4_000
"""The encoder needs a millisecond or two for as many."""
CHARACTERS_PER_VALUE = 128
"""A longer text counts as several values."""
_MOST_ITEMS = 500


def pieces(value: Any, encoder: json.JSONEncoder) -> Iterator[str]:
    """What `encoder.encode` returns, in pieces. Raises what it raises. The encoder has the separators "," and ":"."""
    if not isinstance(value, dict | list | tuple) or _is_small(value):
        yield encoder.encode(value)
    elif isinstance(value, dict):
        names = sorted(value) if encoder.sort_keys else value
        yield from _joined("{}", _members(((name, value[name]) for name in names), encoder))
    else:
        yield from _joined("[]", _items(value, encoder))


def _is_small(value: Any) -> bool:
    left, room = [value], PIECE_VALUES
    while left:
        one = left.pop()
        room -= 1
        if isinstance(one, str):
            room -= len(one) // CHARACTERS_PER_VALUE
        elif isinstance(one, dict | list | tuple):
            if len(one) > room:
                return False
            left += one.values() if isinstance(one, dict) else one
        if room <= 0:
            return False
    return True


def _joined(brackets: str, parts: Iterable[Iterable[str]]) -> Iterator[str]:
    before = brackets[0]
    for part in parts:
        yield before
        yield from part
        before = ","
    yield brackets[1]


def _members(items: Iterable[tuple[Any, Any]], encoder: json.JSONEncoder) -> Iterator[Iterable[str]]:
    left = iter(items)
    while some := dict(islice(left, _MOST_ITEMS)):
        if _is_small(some):
            yield (encoder.encode(some)[1:-1],)
            continue
        for key, item in some.items():
            yield _member(key, item, encoder)


def _member(key: Any, item: Any, encoder: json.JSONEncoder) -> Iterator[str]:
    yield f"{encoder.encode({key: 0})[1:-2]}"
    yield from pieces(item, encoder)


def _items(items: Iterable[Any], encoder: json.JSONEncoder) -> Iterator[Iterable[str]]:
    left = iter(items)
    while some := list(islice(left, _MOST_ITEMS)):
        if _is_small(some):
            yield (encoder.encode(some)[1:-1],)
            continue
        for item in some:
            yield pieces(item, encoder)
