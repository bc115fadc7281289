"""Which literals of a habit's latest wording are parameters, and the code with `args` in their place. Pure."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from .draft_labels import INPUT, LIMIT
from .draft_reading import MAX_TEXT
from .draft_schemas import schema_of_place
from .similarity import Parameter

MAX_PARAMETERS = 8
_IDENTIFIER = re.compile(r"[A-Za-z_$][\w$]*", re.ASCII)
_ADDRESS = re.compile(r"(?:https?:)?//[^/?#]*", re.IGNORECASE)
_PUT_IN = re.compile(r"\$\{(\w+)\}")
_UNESCAPED = re.compile(r"(\\.)|`|\$\{", re.DOTALL)
_SCALARS = frozenset({"number", "boolean", "text", "piece"})
_TEXTS = frozenset({"text", "piece"})
# Numbers that code has for its own sake. Under no name they are no data, whatever other wordings have.
_COMMON_NUMBERS = frozenset({"0", "1", "2", "10", "100", "1000"})
Seen = Mapping[str, Any]
"""What stood in a place: texts, the latest first, each with its value where it is data."""
_HIDDEN = frozenset({"constructor", "prototype", "__proto__"})


@dataclass(frozen=True, slots=True)
class LiteralPlace:
    """A literal of a script, with its place in bytes."""

    start: int
    end: int
    kind: str
    text: str
    """Its beginning, without quotes."""
    label: str
    value: Any = field(default=None, hash=False)
    """Of data: its beginning, to tell its types."""
    whole: str = ""
    """As it is written, where `text` is not all of it."""

    @property
    def compared(self) -> str:
        return self.whole or self.text


@dataclass(frozen=True, slots=True)
class Replaced:
    """The code with `args.name` where a literal varied, the parameters with their schemas, and where each was."""

    code: str
    parameters: dict[str, dict[str, Any]]
    places: dict[str, list[list[int]]]


def varying(
    latest: Sequence[LiteralPlace],
    others: Iterable[Sequence[LiteralPlace]],
    known: Iterable[Parameter],
    code: str = "",
) -> Mapping[int, Seen]:
    """The places of the latest wording, which is this code, that differ in another one, by index, with all that stood
    there."""
    found: dict[int, dict[str, Any]] = {}
    for other in others:
        for index, place in _pairs(latest, other):
            # A template ends its piece where a value is put in, and an address its beginning: beside the whole text
            # they say nothing of what is missing, unless it is a constant of the latest wording.
            is_part = _is_part_of(latest[index], place)
            mine, theirs = _put_in(latest, index, place, code) or (index, None) if is_part else (index, place)
            if theirs is not None and latest[mine].compared != theirs.compared:
                found.setdefault(mine, {latest[mine].text: latest[mine].value})[theirs.text] = theirs.value
    for parameter in known:
        # What the habit itself knows, for wordings that are gone or too different.
        same = [n for n, one in enumerate(latest) if one.text == parameter.values[0] and one.kind in _SCALARS]
        values = [value for value in parameter.values if "${" not in value and not _begins(value, parameter.values[0])]
        if values and len(same) == 1 and "${" not in parameter.values[0]:
            found.setdefault(same[0], {}).update(dict.fromkeys([parameter.values[0], *values]))
    return found


def only_here(latest: Sequence[LiteralPlace], others: Sequence[Sequence[LiteralPlace]]) -> Mapping[int, Seen]:
    """The places whose value fewer than half of the other wordings have, wherever. That is what tells data from the
    constants of an algorithm in code that is written in another style each time; code that reaches for something has
    other constants in each style, such as a timeout, and is not to be read like this."""
    known = [{one.compared for one in places} for places in others]
    found: dict[int, dict[str, Any]] = {}
    for index, place in enumerate(latest):
        often = sum(place.compared in values for values in known)
        is_named = bool(place.label) and not place.label.endswith((INPUT, LIMIT))
        is_data = place.kind == "data" or is_named or place.text not in _COMMON_NUMBERS
        if known and is_data and 2 * often < len(known):
            alike = (one for places in others for one in places if one.label == place.label and _alike(place, one))
            found[index] = {place.text: place.value, **{one.text: one.value for one in alike}}
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


def _is_part_of(one: LiteralPlace, other: LiteralPlace) -> bool:
    """Whether one is the beginning of an address that the other has whole."""
    return {one.kind, other.kind} <= _TEXTS and _begins(one.text, other.text)


def _begins(one: str, other: str) -> bool:
    short, long = sorted((one, other), key=len)
    return "://" in short and long.startswith(short)


def _put_in(
    latest: Sequence[LiteralPlace], index: int, other: LiteralPlace, code: str
) -> tuple[int, LiteralPlace] | None:
    """The constant of the latest wording that its template puts in where the other has a whole text, and what stands
    there in the other."""
    piece = latest[index]
    put_in = _PUT_IN.match(code.encode()[piece.end :].decode(errors="replace"))
    rest = re.split(r"[/?&#]", other.text[len(piece.text) :])[0]
    mine = [n for n, one in enumerate(latest) if put_in and one.kind == "text" and one.label == put_in[1]]
    if piece.kind != "piece" or not rest or len(mine) != 1:
        return None
    return mine[0], replace(latest[mine[0]], text=rest, whole="")


def _alike(one: LiteralPlace, other: LiteralPlace) -> bool:
    if one.kind == "data":
        return other.kind == "data" and one.text[:1] == other.text[:1]
    return one.kind == other.kind or {one.kind, other.kind} <= _TEXTS


def replaced(code: str, places: Sequence[LiteralPlace], found: Mapping[int, Seen]) -> Replaced:
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
        latest = place.text[len(before) : len(place.text) - len(after)]
        if _is_named_in(latest, code) or _has_several(latest, before):
            continue
        key = (label, frozenset(values))
        if key not in names and len(parameters) >= MAX_PARAMETERS:
            continue
        name = names.setdefault(key, _free(label or _unnamed(place), parameters))
        if name not in parameters:
            parameters[name] = schema_of_place(place.kind, name, latest, {place.text: place.value, **values})
        where.setdefault(name, []).append([place.start, place.end])
        changes.append((place.start, place.end, _expression(place, before, after, name).encode()))
    for start, end, text in sorted(changes, reverse=True):
        data = data[:start] + text + data[end:]
    return Replaced(data.decode(errors="replace"), parameters, where)


def _part(place: LiteralPlace, values: Seen) -> tuple[str, str, str] | None:
    """What stays before and after the part that varies, and its label. None if it cannot be told apart."""
    if place.kind not in _TEXTS:
        return "", "", place.label
    texts = sorted(values)
    before = _common(texts)
    after = _common([text[len(before) :][::-1] for text in texts])[::-1]
    if not re.search(r"[/?&=]", place.text):
        # A word or a sentence is one value, whatever it has in common with another. A piece of one is no value.
        return ("", "", place.label) if place.kind == "text" else None
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


def _is_named_in(value: str, code: str) -> bool:
    """Whether the code also has the value as a member, as in `data.monero`: with another value it would be wrong."""
    if not _IDENTIFIER.fullmatch(value):
        return False
    name = re.escape(value)
    return re.search(rf"\.{name}(?![\w$])|[{{,]\s*{name}\s*[,}}]", code) is not None


def _has_several(value: str, before: str) -> bool:
    """Whether more than one value of a query varied: they are not one parameter."""
    return before.endswith("=") and "&" in value


def _common(texts: Sequence[str]) -> str:
    """What all the texts begin with."""
    first, last = min(texts), max(texts)
    same = (n for n, (one, other) in enumerate(zip(first, last, strict=False)) if one != other)
    return first[: next(same, min(len(first), len(last)))]


def _free(label: str, taken: Iterable[str]) -> str:
    words = re.findall(r"[A-Za-z0-9]+", label.lower() if label.isupper() else label)
    name = "".join([*words[:1], *(word[0].upper() + word[1:] for word in words[1:])])[:40]
    name = name if _IDENTIFIER.fullmatch(name) and label not in _HIDDEN else "value"
    free, number = name, 2
    while free in taken:
        free, number = f"{name}{number}", number + 1
    return free


def _unnamed(place: LiteralPlace) -> str:
    """What a literal is called that is given to nothing with a name."""
    return "items" if place.kind == "data" else "value"


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
    source = code.encode()
    found, end_before = [], 0
    for start, end, kind, text, label, value in data:
        known = kind in {*_SCALARS, "data"} and isinstance(text, str) and isinstance(label, str)
        if not known or not (type(start) is int and type(end) is int and end_before <= start < end <= len(source)):
            raise ValueError(f"not the places of literals: {json.dumps(str(kind))[:40]}")
        whole = "".join(source[start:end].decode(errors="replace").split()) if kind == "data" else ""
        if kind in _TEXTS and len(text) >= MAX_TEXT:
            whole = source[start:end].decode(errors="replace")
        found.append(LiteralPlace(start, end, kind, text, label, value, whole))
        end_before = end
    return found
