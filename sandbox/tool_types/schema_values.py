"""How much there is in a value, and how many ways lead through it and its schema. Pure."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from .schema_parts import MAX_PLAIN_BITS, PLAIN_FLOATS, Part, Parts, is_plain

# To find the words for what does not fit costs a hundred times as much as to find that it does not.
MAX_WAYS = 2_000
# In characters that are copied, of which 4 ns each: all that is wrong is collected, each with a copy of the value.
MAX_TOLD = 4_000_000
_FAULT, _COPIED = 500, 50

# A wide integer takes as long as so many others, and so does a fraction.
_WIDE_VALUES = 4
_FRACTION_BITS = 16


class Measure(NamedTuple):
    levels: list[int]
    """How many values there are on each level, from the outermost on. Numbers that are slow to compare are several."""
    total: int
    """How many there are on all of them, each of which is one."""
    characters: int
    names: int
    """Of those, the characters of names, as many as take long to copy."""
    fractions: int
    """Numbers with a fraction, which take long to compare."""
    wide: int
    """Integers of more than 53 bits: as floating-point numbers, by which the library compares, many of them are one."""
    containers: list[Any]

    @property
    def depth(self) -> int:
        return len(self.levels)


def measured(value: Any, most: int, most_wide: int) -> Measure:
    """How much there is in a value. Counting ends at more than `most` values, or more than `most_wide` wide integers:
    the caller refuses such a value whatever else is in it."""
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
    """How many more values a number is to be counted as. The further a fraction is from 1, the wider it is when it is
    compared exactly."""
    if isinstance(number, int):
        return 0 if is_plain(number) else _WIDE_VALUES + (number.bit_length() // 64) ** 2
    return _extra_of_fraction(number)


def _extra_of_fraction(number: float) -> int:
    if number.is_integer() and -PLAIN_FLOATS < number < PLAIN_FLOATS:
        return 0
    return _WIDE_VALUES + abs(math.frexp(number)[1]) // _FRACTION_BITS


def name_length(members: dict[str, Any]) -> int:
    """The characters of the names. ASCII is copied so much faster that it counts for little."""
    return sum(len(name) // 16 if name.isascii() else len(name) for name in members)


def size_of(value: Any, sizes: dict[int, int]) -> int:
    """How many values it is to be counted as, with all that is in it."""
    if isinstance(value, int | float):
        return 1 + extra_values(value)
    return sizes.get(id(value), 1)


class Sizes:
    """How much is copied with each thing that is wrong with a value."""

    def __init__(self, value: Any) -> None:
        self._by_id: dict[int, tuple[int, int]] = {}
        self.largest: list[tuple[int, int]] = []
        """The most values, and the most characters, that one value of each level holds."""
        levels = [[value]]
        while levels[-1]:
            levels.append([inner for part in levels[-1] for inner in _members(part)])
        for level in reversed(levels[:-1]):
            sizes = [self._sized(part) for part in level]
            self.largest.insert(0, (max(values for values, _ in sizes), max(characters for _, characters in sizes)))

    def of(self, value: Any) -> tuple[int, int]:
        """How many values, and how many characters."""
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
    """Whether all that is wrong with the choices of any one part is collected soon. The library does so for the first
    part that does not fit."""
    for wrong, (values, characters) in zip(wrongs, sizes.largest, strict=False):
        # Each name that is wrong comes with a copy of all that is in the object.
        times = values if are_names_told else 1
        if wrong * times * (_FAULT * values + characters) > MAX_TOLD:
            return False
    return True


def are_few_ways(parts: Parts, value: Any, sizes: Sizes) -> bool:
    """Whether all ways through schema and value together are so few that each may be gone."""
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
    """The parts that look at what is in a value, each with what it looks at. Not more than a few thousand."""
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
