"""Shortens the facts of an event to fit one line of the audit log. Pure; text is escaped to ASCII."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import islice
from typing import Any, NamedTuple

from cortex.text import bounded as cut_text

from .ports import FactRefused

RESERVED = frozenset({"seq", "at", "kind", "previous", "hash"})
MAX_FACTS_BYTES = 16_384
MAX_TEXT = 2_000
MAX_ITEMS = 100
MAX_NAME = 100
_MAX_DEPTH = 4
# Larger than any size that is measured; rules out infinity, NaN and numbers of a thousand digits.
_MAX_NUMBER = 2**64

# Limits on text length, tried in this order until all facts fit: a cut text says more than a missing fact.
_TEXT_LIMITS = (MAX_TEXT, 400, 80)

# ASCII, so that no text can control the terminal of a person who looks at the file. It also carries lone surrogates,
# which models do write.
_encode = json.JSONEncoder(ensure_ascii=True, allow_nan=False, check_circular=False, separators=(",", ":")).encode


class Bounded(NamedTuple):
    """Facts within the limits, as values and as text."""

    facts: dict[str, Any]
    text: str
    """The facts as text inside a line, each after a comma."""


def bounded(facts: Mapping[str, Any]) -> Bounded:
    """The facts within the limits, cut where too long, with a mark that says by how much. Raises FactRefused."""
    if not RESERVED.isdisjoint(facts):
        raise FactRefused(f'"{min(RESERVED & facts.keys())}" is a reserved field name; choose another')
    for max_text in _TEXT_LIMITS:
        kept = {_name(name): _cut(value, max_text, _MAX_DEPTH, name) for name, value in facts.items()}
        text = _encode(kept)
        if len(text) <= MAX_FACTS_BYTES:
            return Bounded(kept, f",{text[1:-1]}" if kept else "")
    return _first_ones(kept)


def _first_ones(facts: dict[str, Any]) -> Bounded:
    kept, text, left_out = {}, "", 0
    for name, value in facts.items():
        more = f",{_encode({name: value})[1:-1]}"
        if len(text) + len(more) <= MAX_FACTS_BYTES - 40:
            kept[name] = value
            text += more
        else:
            left_out += 1
    return Bounded({**kept, "facts_left_out": left_out}, f'{text},"facts_left_out":{left_out}')


def _name(name: object) -> str:
    if not isinstance(name, str):
        raise FactRefused(f"a name in JSON is a text, not {type(name).__name__}")
    return name if len(name) <= MAX_NAME else name[:MAX_NAME] + "…"


def _cut(value: Any, max_text: int, depth: int, name: str) -> Any:
    # The fast path for most facts: checking for an abstract class costs more than all the rest.
    kind = type(value)
    if value is None or kind is bool or (kind is str and len(value) <= max_text):
        return value
    if isinstance(value, str):
        return cut_text(value, max_text)
    if isinstance(value, (int, float)):
        if not -_MAX_NUMBER < value < _MAX_NUMBER:
            raise FactRefused(f'"{name}" is a number that JSON does not carry')
        return value
    if not isinstance(value, Mapping | list | tuple):
        raise FactRefused(f'"{name}" is not JSON: {type(value).__name__}')
    if depth == 0:
        return "…"
    more = len(value) - MAX_ITEMS
    if isinstance(value, Mapping):
        first = islice(value.items(), MAX_ITEMS)
        kept = {_name(key): _cut(inner, max_text, depth - 1, name) for key, inner in first}
        return kept if more <= 0 else {**kept, "…": f"{more} more"}
    items = [_cut(inner, max_text, depth - 1, name) for inner in value[:MAX_ITEMS]]
    return items if more <= 0 else [*items, f"… ({more} more)"]
