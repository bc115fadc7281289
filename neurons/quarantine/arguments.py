"""Which values of a recorded run are the arguments of a function: those of its context with the same names, and else
constants of its script. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from ..habits import Place

MAX_TRIES = 24
_MAX_OPTIONS = 4
_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "number": (int, float),
    "integer": (int,),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
}
_NO_WORD = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True)
class Assignment:
    """The arguments of a run, and the places of its script that they come from."""

    arguments: dict[str, Any] = field(default_factory=dict)
    places: Mapping[str, tuple[Place, ...]] = field(default_factory=dict)

    @property
    def holes(self) -> dict[Place, str]:
        return {place: name for name, places in self.places.items() for place in places}


def assignments(
    schema: Mapping[str, Any], context: Any, places: Sequence[Place], varying: Sequence[Any]
) -> list[Assignment]:
    """The possible assignments, the most natural first; none when an argument that is required is not in the run.

    `varying` are the values of the script that not all recorded scripts have.
    """
    properties = schema.get("properties") or {}
    required = schema.get("required") or []
    given = {name: context[name] for name in properties if name in context} if isinstance(context, dict) else {}
    names, options = [], []
    for name in properties:
        if name in given:
            continue
        found = _options(name, properties[name], places, varying)
        if found:
            names.append(name)
            options.append(found)
        elif name in required:
            return []
    made = [(sum(cost for cost, _ in chosen), chosen) for chosen in _products(options)]
    made.sort(key=lambda one: one[0])
    return [
        Assignment(
            {**given, **{name: group[0].value for name, (_, group) in zip(names, chosen, strict=True)}},
            {name: group for name, (_, group) in zip(names, chosen, strict=True)},
        )
        for _, chosen in made[:MAX_TRIES]
    ]


_Option = tuple[int, tuple[Place, ...]]


def _products(options: Sequence[Sequence[_Option]]) -> Iterator[tuple[_Option, ...]]:
    """All choices in which no place serves twice, as many as are worth a look."""
    for number, chosen in enumerate(product(*options)):
        if number > MAX_TRIES * 40:
            return
        used = [place for _, group in chosen for place in group]
        if len(set(used)) == len(used):
            yield chosen


def _options(name: str, schema: Any, places: Sequence[Place], varying: Sequence[Any]) -> list[_Option]:
    """Groups of places with one value that may be this argument, the most natural first."""
    kinds = _kinds_of(schema)
    fitting = [place for place in places if _is_of(place.value, kinds)]
    groups: list[tuple[int, int, tuple[Place, ...]]] = []
    for number, place in enumerate(fitting):
        alike = _alike(name, place.label)
        if alike < 2:
            # A value that differs from run to run is one argument wherever it stands; a constant may be two things.
            same = _same(fitting, place.value) if _has(varying, place.value) else (place,)
            groups.append((alike * 10, number, same))
    for value in _distinct([place.value for place in fitting]):
        group = _same(fitting, value)
        whole = [place for place in group if place.form == "value"]
        is_varying = _has(varying, value)
        # A part of a text may be an argument, but a constant of its own is more likely one.
        groups.append(((20 if is_varying else 40) + (0 if whole else 5), fitting.index(group[0]), group))
    groups.sort(key=lambda one: one[:2])
    return [(cost, group) for group, cost in {group: cost for cost, _, group in reversed(groups)}.items()][::-1][
        :_MAX_OPTIONS
    ]


def _kinds_of(schema: Any) -> tuple[type, ...]:
    """The types of a parameter, which may have several: {"type": ["number", "null"]}."""
    named = schema.get("type", "") if isinstance(schema, Mapping) else ""
    found = [kind for name in (named if isinstance(named, list) else [named]) for kind in _TYPES.get(str(name), ())]
    return tuple(found) or (object,)


def _same(places: Sequence[Place], value: Any) -> tuple[Place, ...]:
    return tuple(place for place in places if place.value == value and type(place.value) is type(value))


def _has(values: Sequence[Any], value: Any) -> bool:
    return any(value == other and type(value) is type(other) for other in values)


def varying_in(runs: Sequence[Sequence[Place]], number: int) -> list[Any]:
    """The values of one run's script that not all runs have."""
    others = [places for at, places in enumerate(runs) if at != number]
    return [
        place.value
        for place in runs[number]
        if any(all(place.value != other.value for other in places) for places in others)
    ]


def _alike(name: str, label: str) -> int:
    """0 for the same word, 1 when one is part of the other, 2 for others."""
    a, b = _NO_WORD.sub("", name.lower()), _NO_WORD.sub("", label.lower().rpartition(".")[2])
    if a == b:
        return 0
    return 1 if min(len(a), len(b)) >= 3 and (a in b or b in a) else 2


def _is_of(value: Any, kinds: tuple[type, ...]) -> bool:
    if isinstance(value, bool):
        return bool in kinds or object in kinds
    return isinstance(value, kinds)


def _distinct(values: Sequence[Any]) -> list[Any]:
    found: list[Any] = []
    for value in values:
        if not _has(found, value):
            found.append(value)
    return found
