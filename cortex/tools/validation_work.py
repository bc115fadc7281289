"""Estimates how much work it is for pydantic to validate a value of a parameter's type. Pure.

Pydantic cannot be stopped, and does more than look at each value once. It tries each member of a union, and each one
that does not fit is an error of its own; so is each missing field of an object. 19,000 values for a union of ten types
are 190,000 errors: half a second, and 85 MB.

In a type that contains itself through a union, it tries each member inside each member. A value of 16 levels takes a
second, one of 26 a quarter of an hour. A union with a discriminator has no such cost.

Sets, and dictionaries whose keys are not texts, are open to hash collisions: Python's hash of numbers, and of what is
made of numbers, is predictable. An attacker can choose thousands that all collide, and putting those into a set takes
quadratic time. Texts are hashed with a secret.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

Schema = Mapping[str, Any]
"""A core schema of pydantic, or a part of one."""

# For all parameters of a call. A unit is about 3 µs and half a kilobyte.
MAX_WORK = 50_000
# For all parameters of a call. 1,000 colliding UUIDs, the slowest of the common types, take 70 ms; 20,000 would take
# half a minute. Objects that are compared in Python take four times as long, so only half as many are accepted.
MAX_HASHED = 1_000

_IN_PYTHON = frozenset({"model", "dataclass", "definition-ref", "call"})
_WITH_SECRET = frozenset({"any", "bool", "bytes", "date", "enum", "literal", "none", "str"})

_ARRAYS = frozenset({"list", "tuple", "set", "frozenset", "generator"})
_OBJECTS = frozenset({"model", "model-fields", "typed-dict", "dataclass", "dataclass-args", "dict", "definition-ref"})
# Keys of a core schema.
NOT_OF_THE_TYPE = frozenset({"cls", "config", "default", "expected", "members", "metadata", "serialization"})


def taken_apart(model: Schema) -> tuple[dict[str, Schema], list[Schema]]:
    """The fields of a model, and the definitions beside it for types that refer to themselves."""
    definitions: list[Schema] = []
    if model["type"] == "definitions":
        definitions, model = model["definitions"], model["schema"]
    return model["schema"]["fields"], definitions


def parts(schema: Schema | list[Schema]) -> Iterator[Schema]:
    """The schema and all schemas inside it."""
    waiting: list[Any] = [schema]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Mapping):
            yield part
            waiting.extend(inner for key, inner in part.items() if key not in NOT_OF_THE_TYPE)
        elif isinstance(part, list | tuple):
            waiting.extend(part)


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


def hashed_fields(model: Schema) -> dict[str, int]:
    """The fields of a pydantic model, by its core schema, whose values are hashed, with the weight of one value."""
    fields, definitions = taken_apart(model)
    # A type that refers to itself is defined apart, and may be meant by any field with a reference.
    is_any_defined = any(map(_is_hashed, parts(definitions)))

    def is_hashed(part: Schema) -> bool:
        return _is_hashed(part) or (is_any_defined and part.get("type") == "definition-ref")

    return {
        name: 2 if any(part.get("type") in _IN_PYTHON for part in parts(field)) else 1
        for name, field in fields.items()
        if any(map(is_hashed, parts(field)))
    }


def _is_hashed(part: Schema) -> bool:
    if part.get("type") in {"set", "frozenset"}:
        # JSON has numbers: a set of anything may be a set of numbers.
        items = part.get("items_schema", {})
        while items.get("type") == "function-before":  # what comes out is of the inner type
            items = items["schema"]
        return items.get("type", "any") not in _WITH_SECRET - {"any"}
    # Member names are texts, and stay texts where any type is accepted.
    return "keys_schema" in part and part["keys_schema"].get("type") not in _WITH_SECRET


def counted(value: Any, most: int) -> int:
    """The number of values in a JSON value, counted up to `most`."""
    found, waiting = 0, [value]
    while waiting and found < most:
        part = waiting.pop()
        found += 1
        if isinstance(part, dict):
            waiting.extend(part.values())
        elif isinstance(part, list):
            waiting.extend(part)
    return found
