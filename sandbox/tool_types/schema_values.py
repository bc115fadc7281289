"""Measures a value before it is checked against a schema, and counts the steps of the check while it runs.

Before: the size of the value, and how costly an error message would be. While it runs: for schemas whose references
are recursive or unfold to very many parts, whose cost depends on the value and may double with each level of it.
"""

from __future__ import annotations

import math
import threading
from typing import Any, NamedTuple

from .schema_parts import MAX_PLAIN_BITS, PLAIN_FLOATS, REFERENCES, BadSchema, Part, Parts, is_plain

# Making the error message costs a hundred times as much as finding that a value does not fit.
MAX_WAYS = 2_000
# In copied characters, 4 ns each: the library collects all errors, each with a copy of the value.
MAX_TOLD = 4_000_000
_FAULT, _COPIED = 500, 50

# A wide integer, or a fraction, takes as long as this many other values.
_WIDE_VALUES = 4
_FRACTION_BITS = 16

STEP = "motor-cortex-step"
# In draft 7 a reference disables all keywords beside it; in later drafts they stay in force.
_ALONE_IN = "draft-07"
_BESIDE_IN = ("2019-09", "2020-12")
_KEPT_BESIDE = frozenset({"$schema", "$id", "$defs", "definitions"})

_running = threading.local()


class Measure(NamedTuple):
    """The size of a value, as far as it decides what a check costs."""

    levels: list[int]
    """Number of values per level, from the outermost on. A number that is slow to compare counts as several."""
    total: int
    """Number of values on all levels, each counted once."""
    characters: int
    names: int
    """Characters of names, weighted by how long they take to copy."""
    fractions: int
    """Numbers with a fraction, which take long to compare."""
    wide: int
    """Integers of more than 53 bits: the library compares by floating-point numbers, and as such many are equal."""
    containers: list[Any]

    @property
    def depth(self) -> int:
        return len(self.levels)


def measured(value: Any, most: int, most_wide: int) -> Measure:
    """Measure a value. Counting ends at more than `most` values, or more than `most_wide` wide integers: the caller
    refuses such a value whatever else is in it."""
    total = characters = names = fractions = wide = 0
    containers: list[Any] = []
    levels: list[int] = []
    level = [value]
    while level and total <= most and wide <= most_wide:
        values = len(level)
        total += values
        below: list[Any] = []
        for part in level:
            if isinstance(part, str):
                characters += len(part)
            elif isinstance(part, dict):
                containers.append(part)
                below.extend(part.values())
                characters += sum(map(len, part))
                names += name_length(part)
            elif isinstance(part, list):
                containers.append(part)
                below.extend(part)
            elif isinstance(part, float):
                fractions += 1
                values += _extra_of_fraction(part)
            elif isinstance(part, int) and part.bit_length() > MAX_PLAIN_BITS:
                wide += 1
                if wide > most_wide:
                    break
                values += extra_values(part)
        levels.append(values)
        level = below
    return Measure(levels, total, characters, names, fractions, wide, containers)


def extra_values(number: float) -> int:
    """How many additional values a number counts as. The further a fraction is from 1, the wider it is when it is
    compared exactly."""
    if isinstance(number, int):
        return 0 if is_plain(number) else _WIDE_VALUES + (number.bit_length() // 64) ** 2
    return _extra_of_fraction(number)


def _extra_of_fraction(number: float) -> int:
    if number.is_integer() and -PLAIN_FLOATS < number < PLAIN_FLOATS:
        return 0
    return _WIDE_VALUES + abs(math.frexp(number)[1]) // _FRACTION_BITS


def name_length(members: dict[str, Any]) -> int:
    """The length of all names, weighted: ASCII is copied so much faster that 16 characters count as one."""
    return sum(len(name) // 16 if name.isascii() else len(name) for name in members)


def size_of(value: Any, sizes: dict[int, int]) -> int:
    """How many values a value counts as, including everything in it."""
    if isinstance(value, int | float):
        return 1 + extra_values(value)
    return sizes.get(id(value), 1)


class Sizes:
    """How much the library copies with each error of a value."""

    def __init__(self, value: Any) -> None:
        self._by_id: dict[int, tuple[int, int]] = {}
        self.largest: list[tuple[int, int]] = []
        """Per level: the most values, and the most characters, that one value holds."""
        levels = [[value]]
        while levels[-1]:
            levels.append([inner for part in levels[-1] for inner in _members(part)])
        for level in reversed(levels[:-1]):
            sizes = [self._sized(part) for part in level]
            self.largest.insert(0, (max(values for values, _ in sizes), max(characters for _, characters in sizes)))

    def of(self, value: Any) -> tuple[int, int]:
        """The number of values and of characters in a value."""
        return self._by_id.get(id(value)) or (1, len(value) if isinstance(value, str) else 1)

    def _sized(self, value: Any) -> tuple[int, int]:
        if not isinstance(value, dict | list):
            return self.of(value)
        inner = [self.of(part) for part in _members(value)]
        characters = sum(map(len, value)) if isinstance(value, dict) else 0
        size = (1 + sum(values for values, _ in inner), characters + sum(more for _, more in inner))
        self._by_id[id(value)] = size
        return size


def _members(value: Any) -> list[Any]:
    return list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []


def is_told_soon(wrongs: list[int], sizes: Sizes, *, are_names_told: bool) -> bool:
    """Whether the library can quickly collect all errors of the choices of any one part. It does so for the first part
    that does not fit."""
    for wrong, (values, characters) in zip(wrongs, sizes.largest, strict=False):
        # Each wrong name comes with a copy of the whole object.
        times = values if are_names_told else 1
        if wrong * times * (_FAULT * values + characters) > MAX_TOLD:
            return False
    return True


def are_few_ways(parts: Parts, value: Any, sizes: Sizes) -> bool:
    """Whether the paths through schema and value together are so few that the library can follow them all."""
    waiting: list[tuple[Part, Any]] = [(parts.root, value)]
    left = MAX_TOLD
    for _ in range(MAX_WAYS):
        if not waiting:
            return True
        part, inner = waiting.pop()
        waiting += [(other, inner) for other in parts.same[id(part)]]
        if isinstance(inner, dict | list) and (parts.within[id(part)] or parts.named[id(part)]):
            waiting += _applied(part, inner)
        left -= parts.faults(part) * _copied(part, inner, sizes)
        if len(waiting) > MAX_WAYS or left < 0:
            return False
    return False


def _copied(part: Part, value: Any, sizes: Sizes) -> int:
    values, characters = sizes.of(value)
    members = 1 + len(value) if isinstance(value, dict | list) else 1
    times = members if "propertyNames" in part else 1
    return _FAULT * members + times * (_COPIED * values + characters)


_FOR_MEMBERS = ("additionalProperties", "unevaluatedProperties")
_FOR_ITEMS = ("items", "prefixItems", "additionalItems", "unevaluatedItems", "contains")


def _applied(part: Part, value: dict[str, Any] | list[Any]) -> list[tuple[Part, Any]]:
    """Pairs of a part and the inner value that it checks. At most MAX_WAYS + 1 pairs."""
    if isinstance(value, list):
        parts = [inner for keyword in _FOR_ITEMS for inner in _parts_of(part.get(keyword))]
        return [(inner, item) for inner in parts for item in value[:MAX_WAYS]][: MAX_WAYS + 1]
    named = part.get("properties")
    named = named if isinstance(named, dict) else {}
    parts = [inner for keyword in _FOR_MEMBERS for inner in _parts_of(part.get(keyword))]
    by_pattern = part.get("patternProperties")
    parts += _parts_of(list(by_pattern.values()) if isinstance(by_pattern, dict) else None)
    found = [(named[name], inner) for name, inner in value.items() if isinstance(named.get(name), dict)]
    found += [(inner, name) for inner in _parts_of(part.get("propertyNames")) for name in value]
    return [*found, *((inner, member) for inner in parts for member in value.values())][: MAX_WAYS + 1]


def _parts_of(written: Any) -> list[Part]:
    return [part for part in (written if isinstance(written, list) else [written]) if isinstance(part, dict)]


class Meter:
    """Counts the steps of one check against a limit. Each step costs the size of the value it is taken on."""

    def __init__(self, sizes: dict[int, int], most: int) -> None:
        self._sizes = sizes
        self._left = most

    @property
    def is_over(self) -> bool:
        return self._left < 0

    def step(self, value: Any) -> None:
        self._left -= size_of(value, self._sizes)
        if self._left < 0:
            raise ValueError("this has gone on for too long")

    def __enter__(self) -> Meter:
        _running.meter = self
        return self

    def __exit__(self, *exception: object) -> None:
        _running.meter = None


class StepKeyword:
    """A custom schema keyword: through it the library calls the meter before it follows a reference."""

    def __init__(self, *place: object) -> None:
        pass

    def validate(self, value: Any) -> None:
        meter: Meter | None = getattr(_running, "meter", None)
        if meter is not None:
            meter.step(value)


def meter_references(parts: Parts) -> None:
    """Change the schema so that each reference takes a step of the meter first. Raises BadSchema."""
    draft = parts.root.get("$schema", _BESIDE_IN[-1])
    is_alone = isinstance(draft, str) and _ALONE_IN in draft
    if not is_alone and not (isinstance(draft, str) and any(name in draft for name in _BESIDE_IN)):
        raise BadSchema("references that lead round are used only in schemas of draft 7 and later")
    for part in parts.all:
        for key in REFERENCES:
            if isinstance(part.get(key), str):
                # `then` is always checked after `if`, in whatever order the other keywords are checked.
                asked = {"if": {STEP: True}, "then": {key: part.pop(key)}, "else": False}
                if is_alone:
                    kept = {name: value for name, value in part.items() if name in _KEPT_BESIDE}
                    part.clear()
                    part.update(kept | asked)
                else:
                    others = part.get("allOf")
                    part["allOf"] = [*(others if isinstance(others, list) else ()), asked]
