"""Joins the strings of a JSON value to one text, and puts the redacted strings back. Pure.

One text, because a thousand small searches take far longer than one; and so each name stands before its value.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .spans import BETWEEN, NAMED

MAX_DEPTH = 200
TOO_DEEP = "[TOO_DEEP]"
# A shorter number is no phone, card or account.
_MIN_NUMBER = 1_000_000


def pieces_of(value: Any) -> list[str]:
    """The strings, and long integers as strings, in order, each followed by a separator."""
    pieces: list[str] = []
    _collect(value, pieces, 0)
    return pieces


def rebuilt(value: Any, pieces: Iterator[str]) -> Any:
    """A copy of the value with other strings in the same order. Data nested too deep to be searched is left out."""
    return _rebuild(value, pieces, 0)


def _collect(value: Any, pieces: list[str], depth: int) -> None:
    if isinstance(value, str):
        pieces += (value, BETWEEN)
    elif _is_long_number(value):
        pieces += (str(value), BETWEEN)
    elif depth >= MAX_DEPTH:
        return
    elif isinstance(value, Mapping):
        for name, item in value.items():
            if isinstance(name, str):
                pieces += (name, NAMED)
            _collect(item, pieces, depth + 1)
    elif isinstance(value, list | tuple):
        for item in value:
            _collect(item, pieces, depth + 1)


def _rebuild(value: Any, pieces: Iterator[str], depth: int) -> Any:
    if isinstance(value, str):
        return next(pieces)
    if _is_long_number(value):
        piece = next(pieces)
        return value if piece == str(value) else piece
    if isinstance(value, Mapping):
        return _object(value, pieces, depth) if depth < MAX_DEPTH else TOO_DEEP
    if isinstance(value, list | tuple):
        return [_rebuild(item, pieces, depth + 1) for item in value] if depth < MAX_DEPTH else TOO_DEEP
    return value


def _object(value: Mapping[Any, Any], pieces: Iterator[str], depth: int) -> dict[Any, Any]:
    made: dict[Any, Any] = {}
    for old, item in value.items():
        name = next(pieces) if isinstance(old, str) else old
        # Tokens without a number look alike, and no member may overwrite another.
        if name in made:
            name = f"{name} ({len(made) + 1})"
        made[name] = _rebuild(item, pieces, depth + 1)
    return made


def _is_long_number(value: Any) -> bool:
    return type(value) is int and (value >= _MIN_NUMBER) and value < 10**40
