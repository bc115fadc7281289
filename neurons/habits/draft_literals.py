"""Which literals of a habit's latest wording are parameters, and the code with `args` in their place. Pure."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from .draft_reading import MAX_TEXT
from .similarity import Parameter

MAX_PARAMETERS = 8
_IDENTIFIER = re.compile(r"[A-Za-z_$][\w$]*", re.ASCII)
_ADDRESS = re.compile(r"(?:https?:)?//[^/?#]*", re.IGNORECASE)
_UNESCAPED = re.compile(r"(\\.)|`|\$\{", re.DOTALL)
_TYPES = {"number": "number", "boolean": "boolean", "text": "string", "piece": "string"}
_TEXTS = frozenset({"text", "piece"})


@dataclass(frozen=True, slots=True)
class LiteralPlace:
    """A literal of a script, with its place in bytes."""

    start: int
    end: int
    kind: str
    text: str
    label: str


@dataclass(frozen=True, slots=True)
class Replaced:
    """The code with `args.name` where a literal varied, the parameters with their schemas, and where each was."""

    code: str
    parameters: dict[str, dict[str, Any]]
    places: dict[str, list[list[int]]]


def varying(
    latest: Sequence[LiteralPlace], others: Iterable[Sequence[LiteralPlace]], known: Iterable[Parameter]
) -> dict[int, set[str]]:
    """The places of the latest wording that differ in another one, by index, with all that stood there."""
    found: dict[int, set[str]] = {}
    for other in others:
        for index, place in _pairs(latest, other):
            if latest[index].text != place.text:
                found.setdefault(index, {latest[index].text}).add(place.text)
    for parameter in known:
        # What the habit itself knows, for wordings that are gone or too different.
        same = [n for n, one in enumerate(latest) if one.text == parameter.values[0] and one.kind in _TYPES]
        if len(parameter.values) > 1 and len(same) == 1 and "${" not in parameter.values[0]:
            found.setdefault(same[0], set()).update(parameter.values)
    return found


def _pairs(latest: Sequence[LiteralPlace], other: Sequence[LiteralPlace]) -> Iterable[tuple[int, LiteralPlace]]:
    if len(latest) == len(other) and all(
        a.label == b.label and _alike(a, b) for a, b in zip(latest, other, strict=True)
    ):
        return list(enumerate(other))
    often = Counter(one.label for one in latest), Counter(one.label for one in other)
    by_label = {one.label: one for one in other if one.label and often[1][one.label] == 1}
    return [
        (n, by_label[one.label])
        for n, one in enumerate(latest)
        if often[0][one.label] == 1 and one.label in by_label and _alike(one, by_label[one.label])
    ]


def _alike(one: LiteralPlace, other: LiteralPlace) -> bool:
    if one.kind == "data":
        return other.kind == "data" and one.text[:1] == other.text[:1]
    return one.kind == other.kind or {one.kind, other.kind} <= _TEXTS


def replaced(code: str, places: Sequence[LiteralPlace], found: dict[int, set[str]]) -> Replaced:
    """The code with the places that varied replaced. Those of a host are left: it is part of what is approved."""
    data = code.encode()
    parameters: dict[str, dict[str, Any]] = {}
    where: dict[str, list[list[int]]] = {}
    names: dict[tuple[str, frozenset[str]], str] = {}
    changes: list[tuple[int, int, bytes]] = []
    for index in sorted(found)[: 4 * MAX_PARAMETERS]:
        place, values = places[index], found[index]
        cut = _part(place, values)
        if cut is None or (any(cut[:2]) and len(place.text) >= MAX_TEXT):
            continue  # of a longer text the rest is not known, and would be lost
        before, after, label = cut
        key = (label, frozenset(values))
        if key not in names and len(parameters) >= MAX_PARAMETERS:
            continue
        name = names.setdefault(key, _free(label, parameters))
        parameters.setdefault(name, _schema(place))
        where.setdefault(name, []).append([place.start, place.end])
        changes.append((place.start, place.end, _expression(place, before, after, name).encode()))
    for start, end, text in sorted(changes, reverse=True):
        data = data[:start] + text + data[end:]
    return Replaced(data.decode(errors="replace"), parameters, where)


def _part(place: LiteralPlace, values: set[str]) -> tuple[str, str, str] | None:
    """What stays before and after the part that varies, and its label. None if it cannot be told apart."""
    if place.kind not in _TEXTS:
        return "", "", place.label
    texts = sorted(values)
    before = _common(texts)
    after = _common([text[len(before) :][::-1] for text in texts])[::-1]
    if not re.search(r"[/?&=]", place.text):
        # A word or a sentence is one value, whatever it has in common with another.
        return ("", "", place.label) if place.kind == "text" else (before, after, place.label)
    cut = max(before.rfind(sign) for sign in "/?&=") + 1
    before = before[:cut]
    ends = [n for sign in "/?&#" if (n := after.find(sign)) >= 0]
    after = after[min(ends) :] if ends else ""
    address = _ADDRESS.match(place.text)
    if address is not None and cut <= address.end():
        return None
    query = re.search(r"([\w.-]+)=$", before)
    segment = re.search(r"([\w.-]+)/$", before.removeprefix(address[0]) if address else before)
    return before, after, query[1] if query else segment[1] if segment else place.label


def _common(texts: Sequence[str]) -> str:
    """What all the texts begin with."""
    first, last = min(texts), max(texts)
    same = (n for n, (one, other) in enumerate(zip(first, last, strict=False)) if one != other)
    return first[: next(same, min(len(first), len(last)))]


def _free(label: str, taken: Iterable[str]) -> str:
    words = re.findall(r"[A-Za-z0-9]+", label)
    name = "".join([*words[:1], *(word[0].upper() + word[1:] for word in words[1:])])[:40]
    name = name if _IDENTIFIER.fullmatch(name) else "value"
    free, number = name, 2
    while free in taken:
        free, number = f"{name}{number}", number + 1
    return free


def _schema(place: LiteralPlace) -> dict[str, Any]:
    if place.kind == "data":
        return {"type": "array" if place.text.startswith("[") else "object"}
    return {"type": _TYPES[place.kind], **({"maxLength": 1_000} if place.kind in _TEXTS else {})}


def _expression(place: LiteralPlace, before: str, after: str, name: str) -> str:
    if place.kind == "piece":
        return f"{before}${{args.{name}}}{after}"
    if place.kind != "text" or not (before or after):
        return f"args.{name}"
    # What is escaped already stays: a second backslash would end the escape, and the rest of the text would be code.
    plain = [_UNESCAPED.sub(lambda found: found[1] or f"\\{found[0]}", part) for part in (before, after)]
    return f"`{plain[0]}${{args.{name}}}{plain[1]}`"


def places_of(data: Any, code: str) -> list[LiteralPlace]:
    """Check what the reading process has found. Raises ValueError: it has parsed hostile code."""
    size = len(code.encode())
    found, end_before = [], 0
    for start, end, kind, text, label in data:
        known = kind in {*_TYPES, "data"} and isinstance(text, str) and isinstance(label, str)
        if not known or not (type(start) is int and type(end) is int and end_before <= start < end <= size):
            raise ValueError(f"not the places of literals: {json.dumps(str(kind))[:40]}")
        found.append(LiteralPlace(start, end, kind, text, label))
        end_before = end
    return found
