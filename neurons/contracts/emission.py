"""What leaves a neuron for a person or the model: its text, and how a document keeps it until it is told.

The template of the text is part of what the owner approved. The data is not: it may come from any server.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Annotated, Any

from pydantic import Field
from pydantic_core import to_json

from .part import Part

MAX_OUTBOX = 64
"""Emissions of one neuron that are written and have not left it. The newest stay."""
MAX_TEXT = 500
MAX_KEPT_TEXT = 200
MAX_TOLD = 8
_MAX_FIELD = 160
_MAX_ID = 100
# Only a field of the data by its name: no attribute, no index and no format can be asked for.
_FIELD = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]{0,63})\}")
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})

Id = Annotated[str, Field(min_length=1, max_length=_MAX_ID)]


class LastEmission(Part):
    """The last thing that a neuron emitted, for its owner."""

    at: float
    type: Annotated[str, Field(max_length=_MAX_ID)]
    text: Annotated[str, Field(max_length=MAX_KEPT_TEXT)] = ""
    id: Annotated[str, Field(max_length=_MAX_ID)] = ""
    told: Annotated[tuple[Annotated[str, Field(max_length=_MAX_ID)], ...], Field(max_length=MAX_TOLD)] = ()
    """Who was told: "console", "webhook", "desktop", "chat", "host"; empty when nobody was, or not yet."""


class Outgoing(Part):
    """An emission that is written and not told yet. It is told after a restart, and then only once."""

    id: Id
    type: Annotated[str, Field(max_length=_MAX_ID)]
    data: Any = None
    priority: Annotated[int, Field(ge=0, le=9)] = 5
    at: Annotated[float, Field(allow_inf_nan=False)]
    correlation: Id
    parent: Annotated[str, Field(max_length=_MAX_ID)] | None = None
    depth: Annotated[int, Field(ge=0)] = 0
    origin: Annotated[str, Field(max_length=_MAX_ID)] = ""


def emission_text(template: str, type_: str, data: Any) -> str:
    """What is told of an emission: one line, bounded, in which nothing is hidden. `{field}` in the template is a field
    of the data; without a template the line is the type and the data."""
    fields = data if isinstance(data, dict) else {"data": data}
    if not template:
        return _line(f"{type_} {_said(data, MAX_TEXT)}" if data not in (None, {}) else type_, MAX_TEXT)
    said: dict[str, str] = {}
    # Each once: a field may be large, and the template may name it a hundred times.
    for name in _FIELD.findall(template):
        if name not in said:
            said[name] = _said(fields.get(name, "?"), _MAX_FIELD)
    # In one pass: braces in the data are no fields.
    return _line(_FIELD.sub(lambda found: said[found[1]], template), MAX_TEXT)


def kept_text(text: str) -> str:
    return _shortened(text, MAX_KEPT_TEXT)


def _said(value: Any, most: int) -> str:
    if isinstance(value, str):
        return _line(value, most)
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        value = int(value)
    try:
        text = to_json(value, inf_nan_mode="null", serialize_unknown=True).decode()
    except (ValueError, RecursionError):
        text = "?"
    return _line(text, most)


def _line(text: str, most: int) -> str:
    """The text in one line. What controls a terminal, turns the direction of text or is not seen is spelled out."""
    # Shortened before and after: a character that is spelled out becomes eight.
    text = " ".join(_shortened(text, 4 * most).split())
    if not text.isascii() or not text.isprintable():
        text = "".join(map(_seen, text))
    return _shortened(text, most)


def _seen(character: str) -> str:
    return f"⟨U+{ord(character):04X}⟩" if unicodedata.category(character) in _HIDDEN else character


def _shortened(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
