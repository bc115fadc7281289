"""Estimates how much work pydantic has to validate a value of a parameter, by the parameter's type. Pure.

Pydantic cannot be stopped, and does more than look at each value once. It tries each member of a union, and each one
that does not fit is an error of its own; so is each missing field of an object. 19,000 values for a union of ten types
are 190,000 errors: half a second, and 85 MB.

In a type that contains itself through a union, it tries each member inside each member. A value of 16 levels takes a
second, one of 26 a quarter of an hour. A union with a discriminator has no such cost.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from .core_schemas import Schema, parts, taken_apart

# For all parameters of a call. A unit is about 3 µs and half a kilobyte.
MAX_WORK = 50_000

_ARRAYS = frozenset({"list", "tuple", "set", "frozenset", "generator"})
_OBJECTS = frozenset({"model", "model-fields", "typed-dict", "dataclass", "dataclass-args", "dict", "definition-ref"})


class Breadth(NamedTuple):
    """The most that the work for one value of a parameter is multiplied by."""

    choices: int = 1
    """Members of a union."""
    fields: int = 1
    """Required fields of an object."""
    objects: int = 1
    """Members that contain the union again, and are tried for each object."""
    arrays: int = 1
    """The same, for each array."""


def breadths(model: Schema) -> dict[str, Breadth]:
    """The fields of a pydantic model, by its core schema, that take more work than their size suggests."""
    fields, definitions = taken_apart(model)
    defined = list(parts(definitions))
    found: dict[str, Breadth] = {}
    for name, field in fields.items():
        own = list(parts(field))
        # A type that refers to itself is defined apart, and may be meant by any field with a reference.
        refers = any(part.get("type") == "definition-ref" for part in own)
        breadth = _breadth([*own, *defined], defined) if refers else _breadth(own, [])
        if breadth != Breadth():
            found[name] = breadth
    return found


def _breadth(of_all: list[Schema], of_defined: list[Schema]) -> Breadth:
    again = [part for part in of_defined if part.get("type") == "union"]
    return Breadth(
        choices=max((len(part["choices"]) for part in of_all if part.get("type") == "union"), default=1),
        fields=max((_required(part) for part in of_all), default=1),
        objects=max((_containing(union, _ARRAYS) for union in again), default=1),
        arrays=max((_containing(union, _OBJECTS) for union in again), default=1),
    )


def _required(part: Schema) -> int:
    fields = part.get("fields")
    listed = list(fields.values()) if isinstance(fields, dict) else fields if isinstance(fields, list) else []
    required = [one for one in listed if isinstance(one, dict) and one.get("schema", {}).get("type") != "default"]
    return max(1, len(required))


def _containing(union: Schema, others: frozenset[str]) -> int:
    """How many members refer to a type defined apart, and do not take only what `others` take."""
    choices = [choice[0] if isinstance(choice, tuple) else choice for choice in union["choices"]]
    return max(1, sum(choice.get("type") not in others and _refers(choice) for choice in choices))


def _refers(schema: Schema) -> bool:
    return any(part.get("type") == "definition-ref" for part in parts(schema))


def work(value: Any, breadth: Breadth) -> int:
    """The work for a value, counted up to MAX_WORK."""
    found, waiting = 0, [(value, 1)]
    while waiting and found <= MAX_WORK:
        part, times = waiting.pop()
        found += times * breadth.choices
        if isinstance(part, dict):
            found += times * breadth.fields
            waiting.extend((inner, times * breadth.objects) for inner in part.values())
        elif isinstance(part, list):
            waiting.extend((inner, times * breadth.arrays) for inner in part)
    return found
