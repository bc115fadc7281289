"""Which parameters of a function become sets, or dictionaries whose keys are not texts. Pure.

Python hashes numbers, and what is made of numbers, in a way that everybody can compute: a stranger can choose thousands
of them that all collide, and to put those into a set takes the square of their count. Texts are hashed with a secret.
"""

from __future__ import annotations

from typing import Any

from .core_schemas import Schema, parts, taken_apart

# Of all parameters of a call. 1,000 colliding UUIDs, the slowest of the common types, take 70 ms; 20,000 would take
# half a minute. Objects that Python compares take four times as long, so that half as many are taken.
MAX_HASHED = 1_000

_IN_PYTHON = frozenset({"model", "dataclass", "definition-ref", "call"})
_WITH_SECRET = frozenset({"any", "bool", "bytes", "date", "enum", "literal", "none", "str"})


def hashed_fields(model: Schema) -> dict[str, int]:
    """The fields of a pydantic model in which strangers' values are hashed, by its core schema, each with the weight of
    one value."""
    fields, definitions = taken_apart(model)
    # What is defined apart, because it refers to itself, may be meant by any field that refers to something.
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
        # JSON has numbers: a set of anything may be one of those.
        return part.get("items_schema", {}).get("type", "any") not in _WITH_SECRET - {"any"}
    # Names of members are texts, and stay so where anything will do.
    return "keys_schema" in part and part["keys_schema"].get("type") not in _WITH_SECRET


def counted(value: Any, most: int) -> int:
    """How many values there are in a JSON value, counted no further than so many."""
    found, waiting = 0, [value]
    while waiting and found < most:
        part = waiting.pop()
        found += 1
        if isinstance(part, dict):
            waiting.extend(part.values())
        elif isinstance(part, list):
            waiting.extend(part)
    return found
