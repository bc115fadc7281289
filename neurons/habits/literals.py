"""The constant values of a script with their places, read in a process that can be killed, and scripts with other
values in those places."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sandbox import CodeReader

from .literal_places import MAX_LABEL_CHARS, MAX_PLACES, MAX_VALUE_CHARS

_MAX_ANSWER_BYTES = MAX_PLACES * 6 * (MAX_VALUE_CHARS + MAX_LABEL_CHARS)
_FORMS = frozenset({"value", "text", "template"})


@dataclass(frozen=True, slots=True)
class Place:
    """A constant value of a script."""

    start: int
    end: int
    form: str
    """"value", "text" for a part of a text, or "template" for a part of a template."""
    label: str
    """What the value is given to, as the script names it."""
    value: Any = field(hash=False)
    outer: tuple[int, int]
    """Of a part of a text: where the whole text stands."""


@dataclass(frozen=True, slots=True)
class ReadScript:
    """A script as it can be run with other values in its places."""

    code: str
    places: tuple[Place, ...] = ()
    is_expression: bool = False
    """Its value is what it gives, without a `return`."""


class LiteralReader(CodeReader):
    """Finds the places of constants in a separate process that can be killed."""

    def __init__(self) -> None:
        module = Path(__file__).with_name("literal_places.py")
        super().__init__(module, "places", name="reader of constants", max_answer_bytes=_MAX_ANSWER_BYTES)

    async def read(self, code: str) -> ReadScript:
        """The script with its places; without any for code that is too large, or could not be read in time. Raises
        SandboxUnavailable when no process can be started."""
        answer = await self.answer(code)
        try:
            is_expression, found = (False, ()) if answer is None else json.loads(answer) or (False, ())
            return ReadScript(code, places_of(found, code), bool(is_expression))
        except (ValueError, TypeError, RecursionError):
            return ReadScript(code)


def places_of(found: Any, code: str) -> tuple[Place, ...]:
    """Check what the reading process says: it has parsed hostile code. Raises ValueError or TypeError."""
    places = []
    for start, end, form, label, value, a, b in found[:MAX_PLACES]:
        is_within = 0 <= a <= b <= len(code) and 0 <= start < end <= len(code)
        if not is_within or form not in _FORMS or (form == "text" and not a <= start <= end <= b):
            raise ValueError("not a place of the script")
        places.append(Place(start, end, form, str(label)[:MAX_LABEL_CHARS], json.loads(value), (a, b)))
    return tuple(places)


def with_holes(code: str, holes: Mapping[Place, str]) -> str:
    """The script with an expression in each of these places. Of places within one another the outer one counts."""
    edits: list[tuple[int, int, str]] = []
    texts: dict[tuple[int, int], None] = {}
    end = -1
    for place in sorted(holes, key=lambda one: (one.start, -one.end)):
        if place.start < end:
            continue
        end = place.end
        expression = holes[place]
        if place.form == "value":
            edits.append((place.start, place.end, f"({expression})"))
        elif place.form == "template":
            edits.append((place.start, place.end, f"${{{expression}}}"))
        else:
            quote = code[place.outer[0]]
            edits.append((place.start, place.end, f"{quote}+({expression})+{quote}"))
            texts[place.outer] = None
    for start, stop in texts:
        edits += [(start, start, "("), (stop, stop, ")")]
    return _edited(code, edits)


def _edited(code: str, edits: Sequence[tuple[int, int, str]]) -> str:
    made, at = [], 0
    for start, end, text in sorted(edits):
        made += [code[at:start], text]
        at = end
    return "".join((*made, code[at:]))
