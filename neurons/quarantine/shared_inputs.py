"""Inputs that two scripts can both be given: what one of them was given, or the data that stand in their code.

Scripts that compute something are often written with their data in them. Data that both have are changed in both at
once; data that only one of them has are put in the place of data of the same form in the other. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice, permutations
from typing import TYPE_CHECKING, Any

from .mutations import mutations
from .variations import variations
from .worlds import World

if TYPE_CHECKING:
    from ..contracts import Recording
    from ..habits import Place, ReadScript

MAX_HOLES = 12
MAX_PAIRINGS = 6
MAX_CONTEXTS = 3
MAX_INPUTS = 36
_AT = 1_767_225_600.0
_SMALL = 3
# Of every program: they say how it counts, and not what it is given.
_USUAL = frozenset({0, 1, 2, 3, 10, 12, 24, 60, 100, 1000, 1024, 3600})


@dataclass(frozen=True, slots=True)
class Inputs:
    """Worlds in the order in which they are tried."""

    worlds: list[World]
    first: int
    """How many of them are as one of the scripts had them."""
    is_sure: bool
    """That results differ means that the scripts do: nothing was put where it may not belong."""


@dataclass(frozen=True, slots=True)
class Holes:
    """The data of a script, each with the name under which it is given."""

    places: dict[Place, str] = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=dict)


def holes_of(script: ReadScript, prefix: str) -> Holes:
    """The outermost constants that may be data; equal ones have one name."""
    found = Holes()
    names: dict[str, str] = {}
    end = -1
    for place in sorted(script.places, key=lambda one: (one.start, -one.end)):
        if place.form != "value" or place.start < end or not _may_be_data(place.value):
            continue
        key = repr(place.value)
        if key not in names and len(names) >= MAX_HOLES:
            continue
        end = place.end
        name = names.setdefault(key, f"{prefix}{len(names)}")
        found.places[place] = name
        found.values[name] = place.value
    return found


def _may_be_data(value: Any) -> bool:
    match value:
        case bool() | None:
            return False
        case int() | float():
            return value not in _USUAL
        case str():
            return len(value) >= _SMALL
        case _:
            return True


def inputs_of_contexts(
    recordings: Sequence[Recording], arguments: dict[str, Any], constants: list[Any]
) -> Iterator[Inputs]:
    """What the scripts were given, and that with changes."""
    contexts = {repr(one.context): one.context for one in recordings if isinstance(one.context, dict) and one.context}
    starts = [*contexts.values()][:MAX_CONTEXTS]
    if starts:
        changed = [made for start in starts for made in _others(start, constants, MAX_INPUTS // len(starts))]
        worlds = [World(number, _AT, context, arguments) for number, context in enumerate([*starts, *changed], 1)]
        yield Inputs(worlds, len(starts), is_sure=True)


def _others(value: Any, constants: list[Any], most: int) -> Iterator[Any]:
    """Other values in its place, two of three like it, and some odd ones."""
    like = islice(variations(value), most * 2 // 3)
    yield from like
    odd = (made.value for made in mutations(value, constants) if type(made.value) is type(value))
    yield from islice(odd, most // 3)


def inputs_of_data(one: Holes, other: Holes, constants: list[Any]) -> Iterator[Inputs]:
    """For each way to give both the same data: the data of one, those of the other, and changed ones."""
    named = {repr(value): name for name, value in other.values.items()}
    shared = [(name, named[repr(value)]) for name, value in one.values.items() if repr(value) in named]
    mine = [name for name in one.values if name not in {a for a, _ in shared}]
    others = [name for name in other.values if name not in {b for _, b in shared}]
    base = {**one.values, **other.values}
    ways = [*islice(_pairings(mine, others, base), MAX_PAIRINGS)]
    for pairs in ways if ways else [()] if shared else []:
        starts = [base]
        if pairs:
            starts = [{**base, **{b: base[a] for a, b in pairs}}, {**base, **{a: base[b] for a, b in pairs}}]
        changes = [
            {**starts[0], a: value, b: value}
            for a, b in (*pairs, *shared)
            for value in _others(starts[0][a], constants, MAX_INPUTS // (len(pairs) + len(shared)))
        ]
        all_ = [World(number, _AT, None, arguments) for number, arguments in enumerate([*starts, *changes], 1)]
        yield Inputs(all_, len(starts), is_sure=not (mine or others))


def _pairings(mine: list[str], others: list[str], values: dict[str, Any]) -> Iterator[tuple[tuple[str, str], ...]]:
    """Data of the same form: all of them if there are as many, or one of each."""

    def fits(pairs: Sequence[tuple[str, str]]) -> bool:
        return all(_form(values[a]) == _form(values[b]) for a, b in pairs)

    if mine and len(mine) == len(others) <= _SMALL:
        for order in permutations(others):
            pairs = tuple(zip(mine, order, strict=True))
            if fits(pairs):
                yield pairs
    ranked = sorted(((a, b) for a in mine for b in others), key=lambda pair: -len(repr(values[pair[0]])))
    yield from (((a, b),) for a, b in ranked if fits([(a, b)]) and not len(mine) == len(others) == 1)


def _form(value: Any, depth: int = 0) -> Any:
    """The form of data: of lists that of their first item, of objects also the names."""
    match value:
        case list():
            return ["list", _form(value[0], depth + 1) if value and depth < _SMALL else ""]
        case dict():
            return {name: _form(inner, depth + 1) if depth < _SMALL else "" for name, inner in value.items()}
        case int() | float():
            return "number"
        case _:
            return type(value).__name__
