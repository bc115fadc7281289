"""Estimates the cost of a check against a JSON Schema from the parts of the schema: which of them look at the same
value, and which at the values inside it. It covers all drafts at once: a part too many only overestimates the cost, a
part too few would hide it."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Set
from functools import cached_property
from typing import Any
from urllib.parse import unquote

Part = dict[str, Any]

# Wider integers are not exact as floating-point numbers, and slow to compare.
MAX_PLAIN_BITS = 53
PLAIN_FLOATS = 2.0**MAX_PLAIN_BITS
# Deeper levels count as if they were the last one.
MAX_LEVELS = 64

REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
# When no choice fits, the library collects all errors of each choice.
_CHOICES = frozenset({"anyOf", "oneOf"})
_SAME_VALUE = frozenset({"allOf", *_CHOICES, "not", "if", "then", "else"})
_SAME_VALUE_BY_NAME = frozenset({"dependentSchemas", "dependencies"})
_WITHIN = frozenset(
    {
        "items",
        "prefixItems",
        "additionalItems",
        "unevaluatedItems",
        "contains",
        "additionalProperties",
        "unevaluatedProperties",
        "propertyNames",
    }
)
_WITHIN_BY_NAME = frozenset({"patternProperties"})
# Looks at one member of each object, not at all of them.
_ONE_WITHIN = frozenset({"properties"})
_NONE: frozenset[str] = frozenset()
_UNEVALUATED = ("unevaluatedProperties", "unevaluatedItems")
_ANCHORS = ("$anchor", "$dynamicAnchor")
_WORD = re.compile(r"[A-Za-z0-9_-]{1,100}")


class BadSchema(ValueError):
    """The schema cannot be used. The message says why."""


class Parts:
    """All parts of a schema that a check may reach, and how they lead to each other."""

    def __init__(self, schema: Part) -> None:
        self.root = schema
        self.all: list[Part] = []
        self.same: dict[int, list[Part]] = {}
        """By the id of a part: the parts that look at the same value, written in it or referred to by it."""
        self.named: dict[int, list[Part]] = {}
        """By the id of a part: the parts that look at one named member of the value."""
        self.within: dict[int, list[Part]] = {}
        """By the id of a part: the parts that look at everything in the value."""
        self.meant: dict[int, Part] = {}
        """The targets of references, by their id."""
        self._faults: dict[int, int] = {}
        self._written: dict[int, list[Part]] = {}
        """By the id of a part: the parts written in it, without the targets of its references."""
        names = _Names(schema)
        waiting = [schema]
        while waiting:
            part = waiting.pop()
            if id(part) in self.same:
                continue
            meant = [names.meant(part[key], key) for key in REFERENCES if isinstance(part.get(key), str)]
            self.meant.update((id(target), target) for target in meant)
            self.all.append(part)
            written = list(_under(part, _SAME_VALUE, _SAME_VALUE_BY_NAME))
            self.same[id(part)] = written + meant
            self.named[id(part)] = list(_under(part, _NONE, _ONE_WITHIN))
            self.within[id(part)] = list(_under(part, _WITHIN, _WITHIN_BY_NAME))
            self._written[id(part)] = written + self.named[id(part)] + self.within[id(part)]
            waiting += self._written[id(part)] + meant

    def have(self, *keywords: str) -> bool:
        return any(keyword in part for part in self.all for keyword in keywords)

    def chain(self) -> int:
        """The longest chain of parts that lead to one another on the same value. Raises BadSchema for a cycle."""
        lengths: dict[int, int] = {}
        for part in self._by_need:
            lengths[id(part)] = 1 + max((lengths[id(inner)] for inner in self.same[id(part)]), default=0)
        return max(lengths.values())

    def left_over(self) -> int:
        """How many parts are compiled again for the `unevaluated...` keywords. Raises BadSchema for a cycle."""
        sizes = self._sizes
        return sum(sizes[id(part)] * _unevaluated(part) for part in self.all)

    @cached_property
    def _sizes(self) -> dict[int, int]:
        sizes: dict[int, int] = {}
        for part in self._by_need:
            sizes[id(part)] = 1 + sum(sizes[id(inner)] for inner in self.same[id(part)])
        return sizes

    @cached_property
    def _by_need(self) -> list[Part]:
        order = post_order(self.all, self.same)
        if order is None:
            raise BadSchema("its references lead back to where they are, without a step into the value")
        return order

    def unfolded(self) -> Unfolded | None:
        """The cost of the schema with each reference replaced by its target; None when that is infinite."""
        edges = {key: self.same[key] + self.named[key] + self.within[key] for key in self.same}
        order = post_order([self.root], edges)
        if order is None:
            return None
        sizes = self._sizes
        found: dict[int, Unfolded] = {}
        for part in order:
            own = Unfolded(part, self.faults(part), [_own_weight(part), _unevaluated(part) * sizes[id(part)]])
            own.add_below(_compared_below(part))
            of_choices = sum(found[id(choice)].faults for choice in _under(part, _CHOICES, _NONE))
            own.wrongs = [of_choices + _listed(part, _CHOICES)]
            for inner in self.same[id(part)]:
                own.add(found[id(inner)])
            for inner in self.named[id(part)]:
                own.add(found[id(inner)], 1, is_named=True)
            for inner in self.within[id(part)]:
                own.add(found[id(inner)], 1)
            found[id(part)] = own
        return found[id(self.root)]

    def longest_body(self) -> int:
        """The highest cost of checking from one reference to the next ones. Each part is weighed once: the targets of
        references may lie in one another."""
        bodies: dict[int, int] = {}
        for part in post_order(self.all, self._written) or ():
            own = _own_weight(part) + sum(key in part for key in REFERENCES)
            own += _UNIQUE_BODY * ("uniqueItems" in part) + _unevaluated(part) * self._sizes[id(part)]
            bodies[id(part)] = own + sum(bodies[id(inner)] for inner in self._written[id(part)])
        return max(bodies[id(part)] for part in (self.root, *self.meant.values()))

    def faults(self, part: Part) -> int:
        """How many errors one value can have at most, by this part alone. Cached: there may be thousands of choices in
        it, and of references to it."""
        if id(part) not in self._faults:
            self._faults[id(part)] = _faults(part)
        return self._faults[id(part)]

    def leave_out(self, *keywords: str) -> None:
        """Remove the keywords from all parts. Changes the schema."""
        for part in self.all:
            for keyword in keywords:
                part.pop(keyword, None)


def post_order(starts: Iterable[Part], edges: dict[int, list[Part]]) -> list[Part] | None:
    """The parts, each after the parts that it leads to; None for a cycle. Not recursive: schemas may be deep."""
    order: list[Part] = []
    is_done: dict[int, bool] = {}
    for start in starts:
        waiting = [(start, False)]
        while waiting:
            part, is_left = waiting.pop()
            if is_left:
                is_done[id(part)] = True
                order.append(part)
            elif id(part) not in is_done:
                is_done[id(part)] = False
                waiting.append((part, True))
                for inner in edges[id(part)]:
                    if is_done.get(id(inner)) is False:
                        return None
                    waiting.append((inner, False))
            elif not is_done[id(part)]:
                return None
    return order


def _under(part: Part, keywords: Set[str], by_name: Set[str]) -> Iterator[Part]:
    for keyword, inner in part.items():
        if keyword in keywords:
            if isinstance(inner, dict):
                yield inner
            elif isinstance(inner, list):
                yield from (choice for choice in inner if isinstance(choice, dict))
        elif keyword in by_name and isinstance(inner, dict):
            yield from (named for named in inner.values() if isinstance(named, dict))


# The library's cost of checking a value, by keyword, in units of 20 ns. If one of two numbers is not a small integer,
# they are compared exactly, as fractions: the slowest of the common cases. The share of the value's own number is
# counted in `schema_values.py`, as if it were several values.
_PART, _NAME, _NEEDED = 2, 3, 4
_UNIQUE, _UNIQUE_FRACTION, _UNIQUE_BODY = 10, 120, 35
_INTEGER, _LONG_INTEGER, _FRACTION, _CONTAINER, _MEMBER = 25, 70, 230, 20, 5
_BOUND, _FRACTION_BOUND = 40, 160
_DIVISOR, _FRACTION_DIVISOR = 60, 330
_BOUNDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
_NAMING = ("required", "properties", "dependentRequired", "dependentSchemas", "dependencies", "patternProperties")
_NEEDING = ("dependentRequired", "dependencies")
_CHOOSING = ("enum", "const")
_WEIGHED = frozenset({*_BOUNDS, *_NAMING, *_CHOOSING, "multipleOf"})
_LISTING = frozenset({*_NAMING, *_SAME_VALUE, *_WITHIN})
_LONG_BITS = 16
# Characters compared in one unit.
_COMPARED = 200
# A non-ASCII name is copied for each `propertyNames`: this many of its characters in one unit.
_NAMED = 8


def _own_weight(part: Part) -> int:
    if _WEIGHED.isdisjoint(part):
        return _PART
    weight = _PART + sum(_bound(part[key]) for key in _BOUNDS if key in part)
    for key in _NAMING:
        named = part.get(key)
        weight += _NAME * len(named) if isinstance(named, list | dict) else 0
    divisor = part.get("multipleOf")
    if divisor is not None:
        weight += (_FRACTION_DIVISOR if isinstance(divisor, float) else _DIVISOR) + _width(divisor)
    return weight + _NEEDED * _needed(part) + _compared(_choices(part))


def _needed(part: Part) -> int:
    """How many names are required by the presence of other names."""
    by_name = [part[key].values() for key in _NEEDING if isinstance(part.get(key), dict)]
    return sum(len(names) for needed in by_name for names in needed if isinstance(names, list))


def _choices(part: Part) -> list[Any]:
    listed = part.get("enum")
    return [*(listed if isinstance(listed, list) else ()), part.get("const")]


def _bound(bound: Any) -> int:
    return _BOUND if is_plain(bound) else _FRACTION_BOUND + _width(bound)


def is_plain(number: Any) -> bool:
    """Whether the library compares the number as a small integer."""
    if isinstance(number, float):
        return number.is_integer() and abs(number) < PLAIN_FLOATS
    return not isinstance(number, int) or number.bit_length() <= MAX_PLAIN_BITS


def _width(number: Any) -> int:
    """The cost of converting a number for each comparison: it grows with the number's width."""
    if isinstance(number, float):
        return 2 * abs(math.frexp(number)[1])
    return number.bit_length() // 6 if isinstance(number, int) and not is_plain(number) else 0


def _compared(values: list[Any]) -> int:
    """The cost of comparing with each of the values. Short strings are looked up, except in objects and arrays."""
    weight, waiting = 0, values
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict | list):
            weight += _CONTAINER + _MEMBER * len(value)
            waiting.extend(value.values() if isinstance(value, dict) else value)
            if isinstance(value, dict):
                weight += sum(_MEMBER + len(name) // _COMPARED for name in value)
        elif isinstance(value, str):
            weight += len(value) // _COMPARED
        elif isinstance(value, int | float) and not isinstance(value, bool):
            weight += _number(value)
    return weight


def _compared_below(part: Part) -> list[int]:
    """For each level below: the cost per value of comparing it with the numbers in objects and arrays. A value is
    compared with at most one number of each choice."""
    found: list[int] = []
    for choice in _choices(part) if "enum" in part or "const" in part else ():
        level = _inner([choice])
        depth = 0
        while level and depth < MAX_LEVELS - 1:
            numbers = [inner for inner in level if isinstance(inner, int | float) and not isinstance(inner, bool)]
            found.extend([0] * (depth + 1 - len(found)))
            found[depth] += max(map(_number, numbers), default=0)
            level = _inner(level)
            depth += 1
    return found


def _inner(values: list[Any]) -> list[Any]:
    containers = [value for value in values if isinstance(value, dict | list)]
    return [inner for value in containers for inner in (value.values() if isinstance(value, dict) else value)]


def _number(number: float) -> int:
    if isinstance(number, int) and is_plain(number):
        return _INTEGER if number.bit_length() <= _LONG_BITS else _LONG_INTEGER
    return _FRACTION + _width(number)


def _faults(part: Part) -> int:
    """How many errors one value can have at most, by this part alone."""
    count = len(part) + _listed(part, _LISTING)
    return count if _WEIGHED.isdisjoint(part) else count + _needed(part) + _copied(_choices(part))


def _copied(values: list[Any]) -> int:
    """An error of a choice holds a copy of all choices: this converts the cost of that copy into a number of errors."""
    count, characters, waiting = 0, 0, values
    while waiting:
        value = waiting.pop()
        count += 1
        if isinstance(value, dict | list):
            waiting.extend(value.values() if isinstance(value, dict) else value)
            characters += sum(map(len, value)) if isinstance(value, dict) else 0
        elif isinstance(value, str):
            characters += len(value)
        elif isinstance(value, int):
            characters += value.bit_length() // 3
    return count // 50 + characters // 500


def _listed(part: Part, keywords: Set[str]) -> int:
    """How many entries the lists and mappings of these keywords have: each can cause an error, even a mere `false`."""
    return sum(len(inner) for key, inner in part.items() if key in keywords and isinstance(inner, list | dict))


def _unevaluated(part: Part) -> int:
    return sum(keyword in part for keyword in _UNEVALUATED)


class Unfolded:
    """The cost of checking a value by all parts of a schema, with each reference replaced by its target."""

    __slots__ = ("count", "faults", "named", "uniques", "weights", "wrongs")

    def __init__(self, part: Part, faults: int, weights: list[int]) -> None:
        self.count = 1
        """The number of parts."""
        self.uniques = int("uniqueItems" in part)
        """How many of them compare everything in a value (`uniqueItems`)."""
        self.named = int("propertyNames" in part)
        """How many of them look at the names in a value, each of which is copied (`propertyNames`)."""
        self.faults = faults
        """How many errors each value can have at most."""
        self.wrongs: list[int] = []
        """Per level: how many errors the choices of one part can give for a value. The library collects them all."""
        self.weights = weights
        """The cost of the parts: first of the parts that are checked once, then of the parts that are checked for each
        value of the first level below, and so on."""

    def add(self, other: Unfolded, levels: int = 0, *, is_named: bool = False) -> None:
        """Add the cost of a part that looks at the same value, or at values some levels below."""
        self.count += other.count
        self.uniques += other.uniques
        self.named += other.named
        self.faults += other.faults
        weights = other.weights if levels == 0 else _one_level_down(other.weights, is_named=is_named)
        own = self.weights
        own.extend([0] * (len(weights) - len(own)))
        for level, weight in enumerate(weights):
            own[level] += weight
        self.wrongs.extend([0] * (min(len(other.wrongs) + levels, MAX_LEVELS) - len(self.wrongs)))
        for level, wrong in enumerate(other.wrongs, levels):
            place = min(level, MAX_LEVELS - 1)
            self.wrongs[place] = max(self.wrongs[place], wrong)

    def add_below(self, weights: list[int]) -> None:
        """Add a cost per value to each level below, from the first one on."""
        self.weights.extend([0] * (1 + len(weights) - len(self.weights)))
        for level, weight in enumerate(weights, 1):
            self.weights[level] += weight

    def work(self, values: list[int], fractions: int, names: int) -> int:
        """The whole cost for a value with this many values per level, fractions, and characters of names."""
        most = len(self.weights) if len(self.weights) < MAX_LEVELS else len(values)
        last = len(self.weights) - 1
        by_level = sum(count * self.weights[min(level, last)] for level, count in enumerate(values[:most]))
        unique = self.uniques * (_UNIQUE * sum(values) + _UNIQUE_FRACTION * fractions)
        return by_level + unique + self.named * names // _NAMED


def _one_level_down(weights: list[int], *, is_named: bool) -> list[int]:
    """The weights as the part above sees them. A named part is checked as often as the part above, any other part once
    for each value of its level."""
    first, *others = weights
    down = [first, 0, *others] if is_named else [0, first, *others]
    if len(down) > MAX_LEVELS:
        down[MAX_LEVELS - 1 :] = [sum(down[MAX_LEVELS - 1 :])]
    return down


class _Names:
    """Resolves the references of a schema. It refuses a reference that it does not understand: the cost behind it would
    be unknown."""

    def __init__(self, root: Part) -> None:
        self._root = root
        self._named: dict[str, Part] = {}
        self._has_inner = False
        old = any(isinstance(part.get("$schema"), str) and "draft-04" in part["$schema"] for part in _objects(root))
        for part in _objects(root):
            own = part.get("$id", part.get("id") if old else None)
            if isinstance(own, str):
                self._own_name(part, own)
            for anchor in _ANCHORS:
                if isinstance(part.get(anchor), str):
                    self._name(f"#{part[anchor]}", part)

    def _own_name(self, part: Part, own: str) -> None:
        if own.startswith("#"):
            self._name(own, part)
        elif part is self._root:
            self._name(own.removesuffix("#"), part)
        elif _WORD.fullmatch(own):
            self._has_inner = True
            self._name(own, part)
        else:
            raise BadSchema(f'a part of it has an address of its own, "{own[:100]}"')

    def _name(self, name: str, part: Part) -> None:
        if self._named.setdefault(name, part) is not part:
            raise BadSchema(f'two parts of it have the name "{name[:100]}"')

    def meant(self, reference: str, keyword: str) -> Part:
        is_local = reference.startswith("#")
        if self._has_inner and (is_local or keyword != "$ref" or not _WORD.fullmatch(reference)):
            raise BadSchema("parts of it have names of their own, and other references too")
        found = self._pointed(reference) if is_local else self._named.get(reference.removesuffix("#"))
        if found is None:
            why = "is not in it" if is_local else "is outside of it, and nothing is fetched"
            raise BadSchema(f'what it refers to {why}: "{reference[:100]}"')
        return found

    def _pointed(self, reference: str) -> Part | None:
        found: Any = self._root
        if reference in {"#", "#/"}:
            return self._root if reference == "#" else None
        if not reference.startswith("#/"):
            return self._named.get(reference)
        for step in unquote(reference[2:]).split("/"):
            key = step.replace("~1", "/").replace("~0", "~")
            if isinstance(found, dict):
                found = found.get(key)
            elif isinstance(found, list) and key.isdecimal() and len(key) < 6 and int(key) < len(found):
                found = found[int(key)]
            else:
                return None
        # `true` and `false` are schemas as well.
        return found if isinstance(found, dict) else {} if isinstance(found, bool) else None


def _objects(value: Any) -> Iterator[Part]:
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            yield part
            waiting.extend(part.values())
        elif isinstance(part, list):
            waiting.extend(part)
